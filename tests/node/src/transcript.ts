// The transcript of a match, made from the output of its agents.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { members, type Client } from "./client.js";
import type { Game__Output as Game } from "./gen/boardwire/v1/Game.js";
import { closeMatch, createMatch, joinMatch, path } from "./harness.js";

/**
 * Orders the decisions of all seats, simultaneous ones by seat.
 *
 * The order of simultaneous decisions is not deterministic. So this function plays the same match again, one decision
 * at a time, the lowest pending seat first. It must end with the result that the agents printed.
 */
export async function transcript(
  client: Client, game: Game, seed: number, printed: string[][],
): Promise<string> {
  const players = printed.map(() => "agent");
  const remaining = printed.map((lines) => [...lines]);
  const match = await createMatch(client, game.id, players, seed);
  const { matchId, hostToken } = match;
  const options = Object.entries(match.options).map(([name, value]) => `${name}=${value}`).sort();
  const lines = [
    `game ${game.id} rules ${game.rulesVersion} seats ${players.length} seed ${seed}`,
    ["options", ...options].join(" "),
    "policy decision",
  ];
  const tokens = await Promise.all(match.codes.map((code) => joinMatch(client, code)));
  for (let episode = 0; remaining[0]!.length > 0; episode++) {
    if (episode > 0) await client.call(client.match.ResetMatch, { matchId }, hostToken);
    lines.push(`episode ${episode}`);
    let observation = (await client.call(client.match.Observe, { matchId }, tokens[0])).observation!;
    while (!observation.terminated && !observation.truncated) {
      const [seat] = observation.pending as [number];
      const line = remaining[seat]!.shift() ?? "";
      const [of, decision, action] = line.split(" ").map(Number);
      assert.equal(of, episode, `seat ${seat} is pending in episode ${episode}, but its agent printed: ${line}`);
      const act = { matchId, episode, decision: decision!, action: action! };
      observation = (await client.call(client.match.Act, act, tokens[seat])).observation!;
      lines.push(`${seat} ${line.slice(line.indexOf(" ") + 1)}`);
    }
    const { scores = [], ranks = [] } = observation.outcome ?? {};
    const over = `over scores ${scores.join(" ")} ranks ${ranks.join(" ")}`;
    for (const rest of remaining) assert.equal(rest.shift(), `${episode} ${over}`);
    lines.push(over);
  }
  assert.deepEqual(remaining.flat(), [], "an agent printed more decisions than were due");
  await closeMatch(client, match);
  return lines.map((line) => `${line}\n`).join("");
}

const golden = (game: string) => path(`tests/golden/${game}/match.transcript.txt`);

export function writeGolden(game: string, found: string): void {
  mkdirSync(dirname(golden(game)), { recursive: true });
  writeFileSync(golden(game), found);
}

/** Expects the transcript to equal the golden file, byte for byte. */
export function assertGolden(game: string, found: string): void {
  const file = golden(game);
  const bless = "BOARDWIRE_BLESS=1 npm test writes it";
  if (!existsSync(file)) assert.fail(`${file} is missing: ${bless}`);
  const expected = readFileSync(file, "utf8");
  if (found === expected) return;
  const [ours, theirs] = [found.split("\n"), expected.split("\n")];
  const at = ours.findIndex((line, i) => line !== theirs[i]);
  assert.fail(`${file}:${at + 1}: expected ${theirs[at]}, found ${ours[at]}; if it should change, ${bless}`);
}
