// What any agent needs around the protocol: a channel, typed calls, patience, masks, the reasons of refusals.

import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync, type MethodDefinition } from "@grpc/proto-loader";
import type { ProtoGrpcType as CatalogProtocol } from "./gen/catalog.js";
import type { ProtoGrpcType as DetailsProtocol } from "./gen/error_details.js";
import type { ProtoGrpcType as MatchProtocol } from "./gen/match_service.js";

type Protocol = CatalogProtocol & MatchProtocol & DetailsProtocol;
type Method<Request, Answer> = MethodDefinition<Request, any, any, Answer>;
/** What is known of a failed call, whether it failed by itself or on a stream. */
export type Failure = { code?: grpc.status; metadata?: grpc.Metadata; details?: unknown };

/** Where the protocol lies, seen from `src` and `dist` alike: the folder that holds `boardwire/v1`. */
const PROTOCOL = fileURLToPath(new URL("../../../proto", import.meta.url));
const FILES = ["boardwire/v1/catalog.proto", "boardwire/v1/match_service.proto", "google/rpc/error_details.proto"];
/** How long a call may take, which may have to wait for other seats. */
const WAIT_MS = 600_000;
/** How long a call may take that waits for nobody. */
const CALL_MS = 20_000;

const CHANNEL: grpc.ChannelOptions = {
  // A stream may be silent for as long as others think: pings tell whether the server is still there.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  // What a server sends at most; the library takes 4 MiB otherwise.
  "grpc.max_receive_message_length": 64 << 20,
};

export class Client {
  /** The methods of the services, for `call` and `stream`. */
  readonly catalog: CatalogProtocol["boardwire"]["v1"]["CatalogService"]["service"];
  readonly match: MatchProtocol["boardwire"]["v1"]["MatchService"]["service"];
  readonly #google: Protocol["google"] & MatchProtocol["google"];
  readonly #channel: grpc.Client;

  /** Dials `host:port` or `unix:/path` at the first call, and again when it has lost its connection. */
  constructor(address: string, protocol = PROTOCOL) {
    const options = { includeDirs: [protocol], longs: String, enums: String, defaults: true, oneofs: true };
    const loaded = grpc.loadPackageDefinition(loadSync(FILES, options)) as unknown as Protocol;
    this.catalog = loaded.boardwire.v1.CatalogService.service;
    this.match = loaded.boardwire.v1.MatchService.service;
    this.#google = loaded.google;
    this.#channel = new grpc.Client(address, grpc.credentials.createInsecure(), CHANNEL);
  }

  /** One call. The token is a seat's or the host's; a refusal rejects with a `grpc.ServiceError`. */
  call<Request, Answer>(
    method: Method<Request, Answer>, request: Request, token?: string, limit = WAIT_MS,
  ): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = method;
    const options = { deadline: Date.now() + limit };
    return new Promise((resolve, reject) => {
      const done: grpc.requestCallback<Answer> = (error, answer) => {
        if (error) reject(error);
        else resolve(answer as Answer);
      };
      this.#channel.makeUnaryRequest(
        path, requestSerialize, responseDeserialize, request, bearer(token), options, done,
      );
    });
  }

  /** Calls until there is an answer: for methods that are safe to repeat. */
  async insist<Request, Answer>(method: Method<Request, Answer>, request: Request): Promise<Answer> {
    for (const patience = new Patience(this); ; ) {
      try {
        return await this.call(method, request, undefined, CALL_MS);
      } catch (failure) {
        await patience.wait(failure as Failure);
      }
    }
  }

  /** A stream both ways, such as `match.Play`. */
  stream<Request, Answer>(
    method: Method<Request, Answer>, token?: string,
  ): grpc.ClientDuplexStream<Request, Answer> {
    const { path, requestSerialize, responseDeserialize } = method;
    return this.#channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, bearer(token));
  }

  /** Why the server refused; empty for what does not come from Boardwire, such as a lost connection. */
  reason({ metadata, details }: Failure): string {
    const { Status, ErrorInfo } = this.#google.rpc;
    const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
    const all = bytes === undefined ? details : Status.deserialize(bytes as Buffer).details;
    const info = Array.isArray(all) && all.find(({ type_url }) => type_url.endsWith("/google.rpc.ErrorInfo"));
    return info ? ErrorInfo.deserialize(info.value).reason : "";
  }

  close(): void {
    this.#channel.close();
  }
}

/** Bears failures in a row: waits longer after each, and gives up in the end. */
export class Patience {
  #failures = 0;
  #last = 0;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** Resolves when it is time to try again; rejects with a refusal, which would come again. */
  async wait(failure: Failure): Promise<void> {
    const { UNAVAILABLE, RESOURCE_EXHAUSTED } = grpc.status;
    // The server tells of a deadline too, if it notices first.
    const passes = failure.code === UNAVAILABLE || failure.code === RESOURCE_EXHAUSTED
      || (failure.code !== undefined && ["", "TIMED_OUT"].includes(this.#client.reason(failure)));
    // Failures longer ago are not in a row with this one.
    if (performance.now() - this.#last > 60_000) this.reset();
    this.#last = performance.now();
    if (!passes || ++this.#failures > 10) throw failure;
    await setTimeout(Math.min(50 * 2 ** this.#failures, 5_000));
  }
}

/** The metadata in which a seat or the host proves itself. */
function bearer(token?: string): grpc.Metadata {
  const metadata = new grpc.Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

/** The members of a set of bits: member `i` is bit `i % 8` of byte `i / 8`. */
export function members(bits: Uint8Array): number[] {
  return Array.from({ length: bits.length * 8 }, (_, i) => i).filter((i) => (bits[i >> 3]! >> (i & 7)) & 1);
}
