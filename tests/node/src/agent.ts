// A Boardwire agent. It joins a match with the code of an invitation and plays until the match is closed.
//
//     node agent.js ADDRESS CODE [--transcript] [--proto DIR]
//
// ADDRESS is host:port or unix:/path. To write your own agent, replace `choose`.

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { status } from "@grpc/grpc-js";
import { Backoff, Client, type Failure, members } from "./client.js";
import type { GameSpec__Output as GameSpec } from "./gen/boardwire/v1/GameSpec.js";
import type { Match__Output as Match } from "./gen/boardwire/v1/Match.js";
import type { Observation__Output as Observation } from "./gen/boardwire/v1/Observation.js";
import type { PlayRequest } from "./gen/boardwire/v1/PlayRequest.js";
import type { PlayResponse__Output as PlayResponse } from "./gen/boardwire/v1/PlayResponse.js";

/**
 * Chooses a legal action. A trained policy also uses `observation.view`; `GameSpec.fields` has its layout. Do not use
 * `observation.ply`: simultaneous actions arrive in any order, so the same game can have different plies.
 */
function choose(legal: number[], observation: Observation): number {
  return legal[observation.decision % legal.length]!;
}

/** The reasons of errors after which an agent observes again. */
const NEEDS_OBSERVE = ["DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN"];

/** How long `boardwire agent-check` asks the agent to wait before each action. */
const THINK_MS = 1_000 * Number(process.env["BOARDWIRE_CHECK_THINK"] ?? 0);

/** An agent with a seat in a match. */
class Agent {
  /** The next request, or the request without a response. */
  #nextRequest: PlayRequest;

  private constructor(
    private readonly client: Client, private readonly match: Match, private readonly token: string,
    private readonly spec: GameSpec, private readonly log: (line: string) => void,
  ) {
    this.#nextRequest = this.observe();
  }

  /** Joins the match. The request id makes the join idempotent: it can be retried after a lost response. */
  static async join(client: Client, code: string, log: (line: string) => void): Promise<Agent> {
    const join = { code, requestId: randomUUID(), withSpec: true };
    const { match, token, spec } = await client.callWithRetry(client.match.JoinMatch, join);
    return new Agent(client, match!, token, spec!, log);
  }

  /** Plays until the match is closed. If a stream breaks, sends the unanswered request again on a new stream. */
  async play(): Promise<void> {
    for (const backoff = new Backoff(this.client); ; ) {
      const failure = await this.stream(backoff).catch((failure) => failure);
      if (this.client.reason(failure) === "MATCH_CLOSED") return;
      await backoff.wait(failure);
    }
  }

  /** Sends requests and reads responses on one stream until it breaks or an error is final. */
  private async stream(backoff: Backoff): Promise<never> {
    // Without a deadline: the other players have no time limit.
    const stream = this.client.stream(this.client.match.Play, this.token);
    try {
      stream.write(this.#nextRequest);
      for await (const response of stream) {
        this.#nextRequest = this.next(response as PlayResponse);
        backoff.reset();
        if (this.#nextRequest.act) await setTimeout(THINK_MS);
        stream.write(this.#nextRequest);
      }
    } finally {
      stream.cancel();
    }
    throw Object.assign(new Error("the server has ended the stream"), { code: status.UNAVAILABLE });
  }

  /** Returns a request to observe. With `wait`, the response comes when a decision is due or the episode is over. */
  private observe(): PlayRequest {
    return { observe: { matchId: this.match.id, wait: true } };
  }

  /**
   * Returns the request after a response: for the decision that is due, or for the next episode. Both requests are
   * idempotent, since they name their decision or episode.
   */
  private next({ error, observe, act, reset }: PlayResponse): PlayRequest {
    if (error) {
      const reason = this.client.reason(error);
      // The host reset or ended the episode, or time ran out.
      if (NEEDS_OBSERVE.includes(reason)) return this.observe();
      throw Object.assign(new Error(error.message), { code: error.code, details: error.details });
    }
    const observation = (act ?? reset ?? observe)!.observation!;
    if (this.#nextRequest.act) {
      const { episode, decision, action } = this.#nextRequest.act;
      this.log(`${episode} ${decision} ${action} ${this.spec.actions[action!]!.label}`);
    }
    const { episode, decision, mask } = observation;
    const matchId = this.match.id;
    if (observation.terminated || observation.truncated) {
      const { scores = [], ranks = [] } = observation.outcome ?? {};
      this.log(`${episode} over scores ${scores.join(" ")} ranks ${ranks.join(" ")}`);
      return { reset: { matchId, episode, wait: true } };
    }
    return { act: { matchId, episode, decision, action: choose(members(mask), observation), wait: true } };
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
