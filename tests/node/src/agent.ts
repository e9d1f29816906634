// An agent: joins a match by invitation and plays it.

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { Client, members } from "./client.js";
import type { Observation__Output as Observation } from "./gen/boardwire/v1/Observation.js";

const USAGE =
  "usage: agent ADDRESS CODE [--policy first|seeded:SEED] [--episodes N] [--transcript] [--proto DIR]";

/** Chooses one of the legal actions. A learned policy would read `observation.view` as well. */
type Policy = (legal: number[], observation: Observation) => number;

/** Always the legal action with the lowest index. */
const first: Policy = (legal) => legal[0]!;

/** Any legal action; equal seeds choose alike. The generator is Lehmer's: short, and exact in a double. */
function seeded(seed: number): Policy {
  let state = (seed % 2147483646) + 1;
  return (legal) => {
    state = (state * 48271) % 2147483647;
    return legal[state % legal.length]!;
  };
}

/** Joins with the code of an invitation and plays; logs each own decision, and how each episode ended. */
async function play(
  client: Client, code: string, policy: Policy, episodes: number, log: (line: string) => void,
): Promise<void> {
  const { match: methods } = client;
  // With a request id of its own, a join whose answer was lost can be repeated.
  const joined = await client.call(methods.JoinMatch, { code, requestId: randomUUID() });
  const { token } = joined;
  const { id: matchId, game, players, options } = joined.match!;
  const { spec } = await client.call(client.catalog.GetGame, { game, seats: players.length, options });

  let seen = (await client.call(methods.Observe, { matchId, wait: true }, token)).observation!;
  for (let left = episodes; ; ) {
    while (!seen.terminated && !seen.truncated) {
      const { episode, decision } = seen;
      const action = policy(members(seen.mask), seen);
      const answer = await client.call(methods.Act, { matchId, episode, decision, action, wait: true }, token);
      log(`${episode} ${decision} ${action} ${spec!.actions[action]!.label}`);
      seen = answer.observation!;
    }
    const { scores = [], ranks = [] } = seen.outcome ?? {};
    log(`${seen.episode} over scores ${scores.join(" ")} ranks ${ranks.join(" ")}`);
    if (--left === 0) return;
    const answer = await client.call(methods.Reset, { matchId, episode: seen.episode, wait: true }, token);
    seen = answer.observation!;
  }
}

function policyNamed(text: string): Policy {
  const [, seed] = /^seeded:(\d+)$/.exec(text) ?? [];
  if (seed !== undefined) return seeded(Number(seed));
  if (text === "first") return first;
  throw new Error(`no such policy: ${text}\n${USAGE}`);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      policy: { type: "string", default: "first" },
      episodes: { type: "string", default: "1" },
      transcript: { type: "boolean", default: false },
      proto: { type: "string" },
    },
  });
  const [address, code] = positionals;
  const episodes = Number(values.episodes);
  if (address === undefined || code === undefined || !(episodes >= 1)) throw new Error(USAGE);
  const policy = policyNamed(values.policy!);
  const client = new Client(address, values.proto);
  try {
    await play(client, code, policy, Math.floor(episodes), values.transcript ? console.log : () => {});
  } finally {
    client.close();
  }
}

main().catch((error: Error) => {
  console.error(`agent: ${error.message}`);
  process.exitCode = 1;
});
