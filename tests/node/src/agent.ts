// An agent: joins a match with the code of an invitation and plays until the host closes it.
//
//     node agent.js ADDRESS CODE [--transcript] [--proto DIR]
//
// ADDRESS is host:port or unix:/path. To write an agent of your own, replace `choose`.

import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { status } from "@grpc/grpc-js";
import { Client, type Failure, Patience, members } from "./client.js";
import type { GameSpec__Output as GameSpec } from "./gen/boardwire/v1/GameSpec.js";
import type { Match__Output as Match } from "./gen/boardwire/v1/Match.js";
import type { Observation__Output as Observation } from "./gen/boardwire/v1/Observation.js";
import type { PlayRequest } from "./gen/boardwire/v1/PlayRequest.js";
import type { PlayResponse__Output as PlayResponse } from "./gen/boardwire/v1/PlayResponse.js";

/**
 * Chooses one of the legal actions. A trained policy looks at `seen.view` as well, which `GameSpec.fields` lays out.
 * None looks at `seen.ply`: simultaneous choices come in any order, so the same game shows other plies.
 */
function choose(legal: number[], seen: Observation): number {
  return legal[seen.decision % legal.length]!;
}

/** The refusals after which an agent observes again. */
const LOOK_AGAIN = ["DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN"];

/** Who has a seat of a match. */
class Agent {
  /** What is to be asked, or has not been answered yet. */
  #due: PlayRequest;

  private constructor(
    private readonly client: Client, private readonly match: Match, private readonly token: string,
    private readonly spec: GameSpec, private readonly log: (line: string) => void,
  ) {
    this.#due = this.observe();
  }

  /** Takes the seat. With a request id of its own, a join whose answer was lost can be repeated. */
  static async join(client: Client, code: string, log: (line: string) => void): Promise<Agent> {
    const { match, token } = await client.insist(client.match.JoinMatch, { code, requestId: randomUUID() });
    const { game, players, options } = match!.config!;
    const table = { game, seats: players.length, options };
    const { spec } = await client.insist(client.catalog.GetGame, table);
    return new Agent(client, match!, token, spec!, log);
  }

  /** Plays until the match is closed. When a stream breaks, what was not answered is asked again on another one. */
  async play(): Promise<void> {
    for (const patience = new Patience(this.client); ; ) {
      const failure = await this.stream(patience).catch((failure) => failure);
      if (this.client.reason(failure) === "MATCH_CLOSED") return;
      await patience.wait(failure);
    }
  }

  /** Asks and is answered on one stream, until it breaks or a request is refused. */
  private async stream(patience: Patience): Promise<never> {
    // It has no deadline, since others may think for long.
    const stream = this.client.stream(this.client.match.Play, this.token);
    try {
      stream.write(this.#due);
      for await (const answer of stream) {
        this.#due = this.next(answer as PlayResponse);
        patience.reset();
        stream.write(this.#due);
      }
    } finally {
      stream.cancel();
    }
    throw Object.assign(new Error("the server has ended the stream"), { code: status.UNAVAILABLE });
  }

  /** Asks for the observation; with `wait` it comes when the seat owes a decision or the episode is over. */
  private observe(): PlayRequest {
    return { observe: { matchId: this.match.id, wait: true } };
  }

  /**
   * What to ask for after an answer: the decision that is due, or the next episode. Both name the one that they are
   * about, so that a request that is repeated does nothing twice.
   */
  private next({ error, observe, act, reset }: PlayResponse): PlayRequest {
    if (error) {
      const reason = this.client.reason(error);
      // The host has begun another episode, or ended this one, or time has run out: look again.
      if (LOOK_AGAIN.includes(reason)) return this.observe();
      throw Object.assign(new Error(error.message), { code: error.code, details: error.details });
    }
    const seen = (act ?? reset ?? observe)!.observation!;
    if (this.#due.act) {
      const { episode, decision, action } = this.#due.act;
      this.log(`${episode} ${decision} ${action} ${this.spec.actions[action!]!.label}`);
    }
    const [matchId, episode, decision] = [this.match.id, seen.episode, seen.decision];
    if (seen.terminated || seen.truncated) {
      const { scores = [], ranks = [] } = seen.outcome ?? {};
      this.log(`${episode} over scores ${scores.join(" ")} ranks ${ranks.join(" ")}`);
      return { reset: { matchId, episode, wait: true } };
    }
    return { act: { matchId, episode, decision, action: choose(members(seen.mask), seen), wait: true } };
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { transcript: { type: "boolean", default: false }, proto: { type: "string" } },
  });
  const [address, code] = positionals;
  if (address === undefined || code === undefined) {
    throw new Error("usage: agent ADDRESS CODE [--transcript] [--proto DIR]");
  }
  const client = new Client(address, values.proto);
  try {
    await (await Agent.join(client, code, values.transcript ? console.log : () => {})).play();
  } catch (failure) {
    throw new Error(`${(failure as Error).message} ${client.reason(failure as Failure)}`);
  } finally {
    client.close();
  }
}

main().catch((error: Error) => {
  console.error(`agent: ${error.message}`);
  process.exitCode = 1;
});
