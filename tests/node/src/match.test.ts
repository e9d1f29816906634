// Agents in two languages against each other, and what a client in another language meets when it errs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { status, type ServiceError } from "@grpc/grpc-js";
import { Client, members } from "./client.js";
import type { Game__Output as Game } from "./gen/boardwire/v1/Game.js";
import type { PlayRequest } from "./gen/boardwire/v1/PlayRequest.js";
import type { PlayResponse__Output as PlayResponse } from "./gen/boardwire/v1/PlayResponse.js";
import {
  closeMatch, createMatch, joinMatch, letPlay, listGames, path, startServer, type Agent, type Server,
} from "./house.js";
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
  return rows.find((row) => row[2] === reason)?.[1] ?? "no such reason";
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

test("agents in TypeScript and Python play the golden match of every game", limit, async (t) => {
  assert(games.length > 0);
  for (const game of games) {
    const orders: Agent[][] = [["typescript", "python"], ["python", "typescript"]];
    for (const order of orders) {
      await t.test(`${game.id}: ${order.join(" against ")}`, async () => {
        const players = Array.from({ length: game.minSeats }, () => "remote");
        const match = await createMatch(client, game.id, players, SEED);
        const args = ["--transcript", "--episodes", String(EPISODES)];
        const printed = await letPlay(match.codes.map((code, seat) => (
          { agent: order[seat % 2]!, args: [server.address, code, ...args] }
        )));
        await closeMatch(client, match);
        const found = await transcript(client, game, SEED, printed);
        if (BLESS && order === orders[0]) writeGolden(game.id, found);
        assertGolden(game.id, found);
      });
    }
  }
});

test("a seeded agent plays alike over TCP and over a Unix socket", limit, async () => {
  const { id, minSeats } = games[0]!;
  const players = ["remote", ...Array.from({ length: minSeats - 1 }, () => "random")];
  const matches = [];
  for (const [address, seed] of [[server.address, 5], [server.socket, 5], [server.socket, 6]] as const) {
    const match = await createMatch(client, id, players, SEED);
    const args = [address, match.codes[0]!, "--policy", `seeded:${seed}`, "--transcript"];
    matches.push((await letPlay([{ agent: "typescript", args }]))[0]!);
    await closeMatch(client, match);
  }
  assert.match(matches[0]!.at(-1)!, /^0 over scores -?\d+/);
  assert.deepEqual(matches[0], matches[1]);
  assert.notDeepEqual(matches[0], matches[2]);
});

test("an illegal action is refused and the match goes on", limit, async () => {
  const match = await createMatch(client, games[0]!.id, ["remote", "remote"], SEED);
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
    createMatch(client, games[0]!.id, ["remote", "remote"], SEED)
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
    const players = ["remote", ...Array.from({ length: game.minSeats - 1 }, () => "random")];
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
