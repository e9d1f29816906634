// Agents in several languages against each other, and the errors that their clients get.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { status, type ServiceError } from "@grpc/grpc-js";
import { Client, members } from "./client.js";
import type { Clock } from "./gen/boardwire/v1/Clock.js";
import type { Game__Output as Game } from "./gen/boardwire/v1/Game.js";
import type { PlayRequest } from "./gen/boardwire/v1/PlayRequest.js";
import type { PlayResponse__Output as PlayResponse } from "./gen/boardwire/v1/PlayResponse.js";
import {
  AGENTS, BINARY, closeMatch, createMatch, joinMatch, runAgents, listGames, path, startServer, type Agent, type Server,
} from "./harness.js";
import { assertGolden, transcript, writeGolden } from "./transcript.js";

const SEED = 7;
/** The second episode tests the reset and the next seed. */
const EPISODES = 2;
const BLESS = process.env["BOARDWIRE_BLESS"] === "1";
const options = { timeout: 60_000 };

let server: Server;
let client: Client;
let games: Game[];

before(async () => {
  server = await startServer();
  client = new Client(server.address);
  games = await listGames(client);
}, options);

after(async () => {
  client?.close();
  await server?.stop();
});

/** Returns the code of a reason in the table of errors. */
function codeOf(reason: string): string {
  const rows = readFileSync(path("tests/errors.tsv"), "utf8").split("\n").map((row) => row.split("\t"));
  return rows.find((row) => row[0] === reason)?.[1] ?? "unknown reason";
}

/** Expects an error with the code and the ErrorInfo of this reason. */
async function assertError(call: Promise<unknown>, reason: string): Promise<void> {
  const error = await call.then(() => assert.fail(`no error: ${reason}`), (error: ServiceError) => error);
  assert.equal(status[error.code], codeOf(reason), error.message);
  const [details] = error.metadata.get("grpc-status-details-bin");
  assert(Buffer.from(details!).includes(reason), `${error.message} is not ${reason}`);
}

function builtAgents(): Agent[] {
  return (Object.keys(AGENTS) as Agent[]).filter((agent) => existsSync(AGENTS[agent][0]!));
}

function illegalAction(mask: Uint8Array): number {
  const legal = new Set(members(mask));
  return Array.from({ length: mask.length * 8 }, (_, action) => action).find((action) => !legal.has(action))!;
}

/** Runs up to four agents and expects the golden transcript. */
async function playGolden(game: Game, agents: Agent[], addresses: string[], bless = false): Promise<void> {
  const players = agents.slice(0, game.maxSeats).map(() => "agent");
  const match = await createMatch(client, game.id, players, SEED, { episodes: EPISODES });
  const printed = await runAgents(match, agents, addresses);
  const found = await transcript(client, game, SEED, printed);
  if (bless) writeGolden(game.id, found);
  assertGolden(game.id, found);
}

test("agents in TypeScript and Python play the golden match of each game", options, async (t) => {
  assert(games.length > 0);
  for (const game of games) {
    await t.test(`${game.id}: over TCP`, async () => {
      await playGolden(game, ["typescript", "python", "typescript", "python"], [server.address], BLESS);
    });
    await t.test(`${game.id}: with swapped seats, over TCP and a Unix socket`, async () => {
      const addresses = [server.socket, server.socket, server.address, server.address];
      await playGolden(game, ["python", "typescript", "python", "typescript"], addresses);
    });
  }
});

test("agents in Python, TypeScript, C++ and Rust play the golden match together", options, async (t) => {
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

test("agents in all languages, from C++ to TypeScript, continue after a timeout", options, async () => {
  // No agent decides within a nanosecond. The server decides for it, and its action gets an error.
  const clocks: Clock[] = [{ limit: { nanos: 1 }, onTimeout: "TIMEOUT_POLICY_FIRST_LEGAL" }];
  for (const agent of builtAgents()) {
    const match = await createMatch(client, "rauha", ["agent", "random"], SEED, { clocks, episodes: 1 });
    const [printed] = await runAgents(match, [agent], [server.address]);
    assert.equal(printed!.length, 1, `the agent in ${agent} must be late`);
    assert.match(printed![0]!, /^0 over scores /);
  }
});

test("agents from C++ to TypeScript use TLS and an account", options, async () => {
  const folder = mkdtempSync(join(tmpdir(), "boardwire-tls-"));
  const [cert, key, accounts] = ["cert.pem", "key.pem", "accounts.toml"].map((name) => join(folder, name));
  // The certificate signs itself, so it is its own CA.
  execFileSync("openssl", [
    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=boardwire",
    "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
    "-keyout", key!, "-out", cert!,
  ], { stdio: "pipe" });
  const { stdout, stderr } = spawnSync(BINARY, ["token", "ada"], { encoding: "utf8" });
  writeFileSync(accounts!, stdout);
  const flags = ["--tls-cert", cert!, "--tls-key", key!, "--auth-token-file", accounts!];
  const secured = await startServer(flags);
  process.env["BOARDWIRE_CA"] = cert;
  process.env["BOARDWIRE_ACCOUNT_TOKEN"] = stderr.trim().split(" ").at(-1);
  const host = new Client(secured.address);
  try {
    // Debian's Netty has no ALPN, so the Java agent has no TLS there.
    for (const agent of builtAgents().filter((agent) => agent !== "java")) {
      const match = await createMatch(host, "faraway", ["agent", "random"], SEED, { episodes: 1 });
      const [printed] = await runAgents(match, [agent], [secured.address]);
      assert.match(printed!.at(-1)!, /^0 over scores /, agent);
    }
  } finally {
    delete process.env["BOARDWIRE_CA"];
    delete process.env["BOARDWIRE_ACCOUNT_TOKEN"];
    host.close();
    await secured.stop();
    rmSync(folder, { recursive: true });
  }
});

test("the agent in C++ reads views field by field", options, async (t) => {
  if (!existsSync(AGENTS.cpp[0]!)) return t.skip("no agent in cpp: `make test-agents` builds it");
  for (const game of games) {
    // Two matches with the same seed: the agent observes one, this test the other.
    const players = ["agent", "random"];
    const [observed, played] = [
      await createMatch(client, game.id, players, SEED),
      await createMatch(client, game.id, players, SEED, { episodes: 1 }),
    ];
    const token = await joinMatch(client, observed.codes[0]!);
    const { spec } = await client.call(client.catalog.GetGame, { game: game.id, seats: 2, options: observed.options });
    const observe = { matchId: observed.matchId, wait: true };
    const { view } = (await client.call(client.match.Observe, observe, token)).observation!;
    const expected = spec!.fields.map(({ name, offset, axes, max }) => {
      const values = Array.from({ length: axes.reduce((all, { size }) => all * size, 1) }, (_, i) => (
        max > 255 ? view.readUInt16LE(offset + 2 * i) : view.readUInt8(offset + i)
      ));
      return ["view", name, ...values].join(" ");
    });
    const printed = (await runAgents(played, ["cpp"], [server.address], ["--views"]))[0]!;
    assert(expected.length > 5);
    assert(spec!.fields.some(({ axes }) => axes.length > 1), "a field must have two axes");
    assert.deepEqual(printed.slice(0, expected.length), expected);
    await closeMatch(client, observed);
  }
});

test("an illegal action is an error and the match continues", options, async () => {
  const match = await createMatch(client, games[0]!.id, ["agent", "agent"], SEED);
  const { matchId } = match;
  const token = await joinMatch(client, match.codes[0]!);
  const observe = async () => {
    const response = await client.call(client.match.Observe, { matchId, wait: true }, token);
    return response.observation!;
  };
  const observation = await observe();
  const { episode, decision, mask } = observation;
  const act = (action: number) => client.call(client.match.Act, { matchId, episode, decision, action }, token);
  await assertError(act(illegalAction(mask)), "ACTION_ILLEGAL");
  await assertError(act(999_999), "ACTION_OUT_OF_RANGE");
  assert.deepEqual(await observe(), observation);
  const [legal, other] = members(mask);
  assert.equal((await act(legal!)).observation!.decision, decision + 1);
  assert.equal((await act(legal!)).observation!.decision, decision + 1, "a repeated act must count once");
  await assertError(act(other!), "DECISION_STALE");
  await closeMatch(client, match);
  await assertError(observe(), "MATCH_CLOSED");
});

test("a wrong token is an error, and the token of a seat cannot close a match", options, async () => {
  const [match, another] = await Promise.all([0, 1].map(() => (
    createMatch(client, games[0]!.id, ["agent", "agent"], SEED)
  )));
  const { matchId, codes: [code] } = match!;
  const token = await joinMatch(client, code!);
  const observe = (token?: string) => client.call(client.match.Observe, { matchId }, token);
  await assertError(observe(), "TOKEN_MISSING");
  await assertError(observe("wrong"), "TOKEN_WRONG");
  await assertError(observe(another!.hostToken), "TOKEN_WRONG");
  await assertError(observe(match!.hostToken), "SEAT_ONLY");
  await assertError(client.call(client.match.CloseMatch, { matchId }, token), "HOST_ONLY");
  await assertError(joinMatch(client, code!), "INVITATION_USED");
  await assertError(joinMatch(client, "wrong"), "INVITATION_UNKNOWN");
  assert((await observe(token)).observation!.mask.some((byte) => byte !== 0));
  await closeMatch(client, match!);
  await closeMatch(client, another!);
});

test("an error on a stream is a response with code and reason, and the stream continues", options, async () => {
  for (const game of games) {
    const players = ["agent", ...Array.from({ length: game.minSeats - 1 }, () => "random")];
    const match = await createMatch(client, game.id, players, SEED);
    const { matchId } = match;
    const stream = client.stream(client.match.Play, await joinMatch(client, match.codes[0]!));
    const responses = stream[Symbol.asyncIterator]();
    let tag = 0;
    const ask = async (request: PlayRequest): Promise<PlayResponse> => {
      stream.write({ ...request, tag: ++tag });
      const response: PlayResponse = (await responses.next()).value;
      assert.equal(response.tag, tag, "a response must have the tag of its request");
      return response;
    };
    let observation = (await ask({ observe: { matchId, wait: true } })).observe!.observation!;
    const wrong: [string, number, number][] = [
      ["ACTION_ILLEGAL", observation.decision, illegalAction(observation.mask)],
      ["ACTION_OUT_OF_RANGE", observation.decision, 999_999],
      ["DECISION_STALE", observation.decision + 9, members(observation.mask)[0]!],
    ];
    for (const [reason, decision, action] of wrong) {
      const { error } = await ask({ act: { matchId, episode: observation.episode, decision, action } });
      assert(error, `no error: ${reason}`);
      assert.equal(status[error.code], codeOf(reason));
      assert(error.details.some(({ value }) => value.includes(reason)), `${error.message} is not ${reason}`);
      assert.notEqual(error.message, "");
    }
    while (!observation.terminated) {
      const { episode, decision, mask } = observation;
      const request = { matchId, episode, decision, action: members(mask)[0]!, wait: true };
      const { act, error } = await ask({ act: request });
      observation = act?.observation ?? assert.fail(error?.message);
    }
    assert.equal(observation.outcome!.ranks.length, game.minSeats);
    const { episode } = observation;
    observation = (await ask({ reset: { matchId, episode, wait: true } })).reset!.observation!;
    observation = (await ask({ resign: { matchId, episode: observation.episode } })).resign!.observation!;
    assert.deepEqual(observation.outcome!.forfeits.slice(0, 2), ["FORFEIT_RESIGNED", "FORFEIT_UNSPECIFIED"]);
    stream.end();
    assert((await responses.next()).done, "the server must end the stream after the client");
    await closeMatch(client, match);
  }
});
