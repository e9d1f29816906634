// Agents in several languages against each other, and what a client in another language meets when it errs.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { status, type ServiceError } from "@grpc/grpc-js";
import { Client, members } from "./client.js";
import type { Clock } from "./gen/boardwire/v1/Clock.js";
import type { Game__Output as Game } from "./gen/boardwire/v1/Game.js";
import type { PlayRequest } from "./gen/boardwire/v1/PlayRequest.js";
import type { PlayResponse__Output as PlayResponse } from "./gen/boardwire/v1/PlayResponse.js";
import {
  AGENTS, closeMatch, createMatch, joinMatch, letPlay, listGames, path, startServer, type Agent, type Server,
} from "./harness.js";
import { assertGolden, transcript, writeGolden } from "./transcript.js";

const SEED = 7;
/** The second one shows that both begin the next episode, with the seed that follows. */
const EPISODES = 2;
const BLESS = process.env["BOARDWIRE_BLESS"] === "1";
const limit = { timeout: 60_000 };

let server: Server;
let client: Client;
let games: Game[];

before(async () => {
  server = await startServer();
  client = new Client(server.address);
  games = await listGames(client);
}, limit);

after(async () => {
  client?.close();
  await server?.stop();
});

/** The code that the table of errors gives a reason. */
function codeOf(reason: string): string {
  const rows = readFileSync(path("tests/errors.tsv"), "utf8").split("\n").map((row) => row.split("\t"));
  return rows.find((row) => row[0] === reason)?.[1] ?? "no such reason";
}

/** Expects a refusal for this reason, which ErrorInfo carries beside the code. */
async function assertRefused(call: Promise<unknown>, reason: string): Promise<void> {
  const error = await call.then(() => assert.fail(`not refused: ${reason}`), (error: ServiceError) => error);
  assert.equal(status[error.code], codeOf(reason), error.message);
  const [details] = error.metadata.get("grpc-status-details-bin");
  assert(Buffer.from(details!).includes(reason), `${error.message} is not ${reason}`);
}

function illegalAction(mask: Uint8Array): number {
  const legal = new Set(members(mask));
  return Array.from({ length: mask.length * 8 }, (_, action) => action).find((action) => !legal.has(action))!;
}

/** Lets agents play, four if the game is for as many; expects the golden transcript. */
async function playGolden(game: Game, agents: Agent[], addresses: string[], bless = false): Promise<void> {
  const players = agents.slice(0, game.maxSeats).map(() => "agent");
  const match = await createMatch(client, game.id, players, SEED);
  const printed = await letPlay(client, match, agents, addresses, EPISODES);
  const found = await transcript(client, game, SEED, printed);
  if (bless) writeGolden(game.id, found);
  assertGolden(game.id, found);
}

test("agents in TypeScript and Python play the golden match of every game", limit, async (t) => {
  assert(games.length > 0);
  for (const game of games) {
    await t.test(`${game.id}: over TCP`, async () => {
      await playGolden(game, ["typescript", "python", "typescript", "python"], [server.address], BLESS);
    });
    await t.test(`${game.id}: at the other seats, over TCP and a Unix socket`, async () => {
      const addresses = [server.socket, server.socket, server.address, server.address];
      await playGolden(game, ["python", "typescript", "python", "typescript"], addresses);
    });
  }
});

test("agents in Python, TypeScript, C++ and Rust play it at one table", limit, async (t) => {
  const missing = (["cpp", "rust"] as const).filter((agent) => !existsSync(AGENTS[agent][0]!));
  if (missing.length > 0) return t.skip(`no agent in ${missing.join(" and ")}: \`make test-agents\` builds them`);
  for (const game of games) {
    await t.test(`${game.id}: with C++ and Rust`, () => (
      playGolden(game, ["python", "typescript", "cpp", "rust"], [server.address])
    ));
    await t.test(`${game.id}: with Rust and C++ at other seats, over a Unix socket`, () => (
      playGolden(game, ["rust", "cpp", "python", "typescript"], [server.socket])
    ));
  }
});

test("agents in every language, from C++ to TypeScript, go on when their time has run out", limit, async () => {
  // No agent decides in a nanosecond: the server decides for them, and tells them that they are late.
  const clocks: Clock[] = [{ limit: { nanos: 1 }, onTimeout: "TIMEOUT_POLICY_FIRST_LEGAL" }];
  const built = (Object.keys(AGENTS) as Agent[]).filter((agent) => existsSync(AGENTS[agent][0]!));
  for (const agent of built) {
    const match = await createMatch(client, "rauha", ["agent", "random"], SEED, { clocks });
    const [printed] = await letPlay(client, match, [agent], [server.address], 1);
    assert.equal(printed!.length, 1, `the agent in ${agent} has decided in time`);
    assert.match(printed![0]!, /^0 over scores /);
  }
});

test("the agent in C++ reads views field by field", limit, async (t) => {
  if (!existsSync(AGENTS.cpp[0]!)) return t.skip("no agent in cpp: `make test-agents` builds it");
  for (const game of games) {
    // Two matches from one seed: an agent looks at one of them, this test at the other.
    const players = ["agent", "random"];
    const [seen, played] = [
      await createMatch(client, game.id, players, SEED), await createMatch(client, game.id, players, SEED),
    ];
    const token = await joinMatch(client, seen.codes[0]!);
    const { spec } = await client.call(client.catalog.GetGame, { game: game.id, seats: 2, options: seen.options });
    const observe = { matchId: seen.matchId, wait: true };
    const { view } = (await client.call(client.match.Observe, observe, token)).observation!;
    const wanted = spec!.fields.map(({ name, offset, axes, max }) => {
      const values = Array.from({ length: axes.reduce((all, { size }) => all * size, 1) }, (_, i) => (
        max > 255 ? view.readUInt16LE(offset + 2 * i) : view.readUInt8(offset + i)
      ));
      return ["view", name, ...values].join(" ");
    });
    const printed = (await letPlay(client, played, ["cpp"], [server.address], 1, ["--views"]))[0]!;
    assert(wanted.length > 5);
    assert(spec!.fields.some(({ axes }) => axes.length > 1), "some field has two axes");
    assert.deepEqual(printed.slice(0, wanted.length), wanted);
    await closeMatch(client, seen);
  }
});

test("an illegal action is refused and the match goes on", limit, async () => {
  const match = await createMatch(client, games[0]!.id, ["agent", "agent"], SEED);
  const { matchId } = match;
  const token = await joinMatch(client, match.codes[0]!);
  const observe = async () => {
    const answer = await client.call(client.match.Observe, { matchId, wait: true }, token);
    return answer.observation!;
  };
  const seen = await observe();
  const { episode, decision } = seen;
  const act = (action: number) => client.call(client.match.Act, { matchId, episode, decision, action }, token);
  await assertRefused(act(illegalAction(seen.mask)), "ACTION_ILLEGAL");
  await assertRefused(act(999_999), "ACTION_OUT_OF_RANGE");
  assert.deepEqual(await observe(), seen);
  const [legal, other] = members(seen.mask);
  assert.equal((await act(legal!)).observation!.decision, decision + 1);
  assert.equal((await act(legal!)).observation!.decision, decision + 1, "a repeated act counts once");
  await assertRefused(act(other!), "DECISION_STALE");
  await closeMatch(client, match);
  await assertRefused(observe(), "MATCH_CLOSED");
});

test("a wrong token is refused, and a seat's token does not close a match", limit, async () => {
  const [match, another] = await Promise.all([0, 1].map(() => (
    createMatch(client, games[0]!.id, ["agent", "agent"], SEED)
  )));
  const { matchId, codes: [code] } = match!;
  const token = await joinMatch(client, code!);
  const observe = (token?: string) => client.call(client.match.Observe, { matchId }, token);
  await assertRefused(observe(), "TOKEN_MISSING");
  await assertRefused(observe("wrong"), "TOKEN_WRONG");
  await assertRefused(observe(another!.hostToken), "TOKEN_WRONG");
  await assertRefused(observe(match!.hostToken), "SEAT_ONLY");
  await assertRefused(client.call(client.match.CloseMatch, { matchId }, token), "HOST_ONLY");
  await assertRefused(joinMatch(client, code!), "INVITATION_USED");
  await assertRefused(joinMatch(client, "wrong"), "INVITATION_UNKNOWN");
  assert((await observe(token)).observation!.mask.some((byte) => byte !== 0));
  await closeMatch(client, match!);
  await closeMatch(client, another!);
});

test("a refusal on a stream is an answer with code and reason, and the stream goes on", limit, async () => {
  for (const game of games) {
    const players = ["agent", ...Array.from({ length: game.minSeats - 1 }, () => "random")];
    const match = await createMatch(client, game.id, players, SEED);
    const { matchId } = match;
    const stream = client.stream(client.match.Play, await joinMatch(client, match.codes[0]!));
    const answers = stream[Symbol.asyncIterator]();
    let asked = 0;
    const ask = async (request: PlayRequest): Promise<PlayResponse> => {
      stream.write({ ...request, tag: ++asked });
      const answer: PlayResponse = (await answers.next()).value;
      assert.equal(answer.tag, asked, "an answer repeats the tag of its request");
      return answer;
    };
    let seen = (await ask({ observe: { matchId, wait: true } })).observe!.observation!;
    const wrong: [string, number, number][] = [
      ["ACTION_ILLEGAL", seen.decision, illegalAction(seen.mask)],
      ["ACTION_OUT_OF_RANGE", seen.decision, 999_999],
      ["DECISION_STALE", seen.decision + 9, members(seen.mask)[0]!],
    ];
    for (const [reason, decision, action] of wrong) {
      const { error } = await ask({ act: { matchId, episode: seen.episode, decision, action } });
      assert(error, `not refused: ${reason}`);
      assert.equal(status[error.code], codeOf(reason));
      assert(error.details.some(({ value }) => value.includes(reason)), `${error.message} is not ${reason}`);
      assert.notEqual(error.message, "");
    }
    while (!seen.terminated) {
      const { episode, decision } = seen;
      const request = { matchId, episode, decision, action: members(seen.mask)[0]!, wait: true };
      const { act, error } = await ask({ act: request });
      seen = act?.observation ?? assert.fail(error?.message);
    }
    assert.equal(seen.outcome!.ranks.length, game.minSeats);
    seen = (await ask({ reset: { matchId, episode: seen.episode, wait: true } })).reset!.observation!;
    seen = (await ask({ resign: { matchId, episode: seen.episode } })).resign!.observation!;
    assert.deepEqual(seen.outcome!.forfeits.slice(0, 2), ["FORFEIT_RESIGNED", "FORFEIT_UNSPECIFIED"]);
    stream.end();
    assert((await answers.next()).done, "the server ends the stream with its client");
    await closeMatch(client, match);
  }
});
