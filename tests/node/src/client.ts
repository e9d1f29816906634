// Helpers for agents: a channel, typed calls, retries, masks, and reasons of errors.

import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync, type MethodDefinition } from "@grpc/proto-loader";
import type { ProtoGrpcType as CatalogProtocol } from "./gen/catalog.js";
import type { ProtoGrpcType as DetailsProtocol } from "./gen/error_details.js";
import type { ProtoGrpcType as MatchProtocol } from "./gen/match_service.js";

type Protocol = CatalogProtocol & MatchProtocol & DetailsProtocol;
type Method<Request, Response> = MethodDefinition<Request, any, any, Response>;
/** A failed call or an error on a stream. */
export type Failure = { code?: grpc.status; metadata?: grpc.Metadata; details?: unknown };

/** The folder that contains `boardwire/v1`. The path is the same from `src` and `dist`. */
const PROTOCOL = fileURLToPath(new URL("../../../proto", import.meta.url));
const FILES = ["boardwire/v1/catalog.proto", "boardwire/v1/match_service.proto", "google/rpc/error_details.proto"];
/** The timeout of a call that can wait for other seats. */
const WAIT_MS = 600_000;
/** The timeout of a call that does not wait for other seats. */
const CALL_MS = 20_000;

const CHANNEL: grpc.ChannelOptions = {
  // A stream can be silent while other players choose. Pings detect a lost server.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  // The largest message of a server. The default of the library is 4 MiB.
  "grpc.max_receive_message_length": 64 << 20,
};

export class Client {
  /** The methods of the services, for `call` and `stream`. */
  readonly catalog: CatalogProtocol["boardwire"]["v1"]["CatalogService"]["service"];
  readonly match: MatchProtocol["boardwire"]["v1"]["MatchService"]["service"];
  readonly #google: Protocol["google"] & MatchProtocol["google"];
  readonly #channel: grpc.Client;

  /** Connects to `host:port` or `unix:/path` at the first call, and reconnects after a lost connection. */
  constructor(address: string, protocol = PROTOCOL) {
    const options = { includeDirs: [protocol], longs: String, enums: String, defaults: true, oneofs: true };
    const loaded = grpc.loadPackageDefinition(loadSync(FILES, options)) as unknown as Protocol;
    this.catalog = loaded.boardwire.v1.CatalogService.service;
    this.match = loaded.boardwire.v1.MatchService.service;
    this.#google = loaded.google;
    const ca = process.env["BOARDWIRE_CA"];
    const { createInsecure, createSsl } = grpc.credentials;
    this.#channel = new grpc.Client(address, ca ? createSsl(readFileSync(ca)) : createInsecure(), CHANNEL);
  }

  /** Makes one call with the token of a seat or the host. An error rejects with a `grpc.ServiceError`. */
  call<Request, Response>(
    method: Method<Request, Response>, request: Request, token?: string, timeout = WAIT_MS,
  ): Promise<Response> {
    const { path, requestSerialize, responseDeserialize } = method;
    const options = { deadline: Date.now() + timeout };
    return new Promise((resolve, reject) => {
      const done: grpc.requestCallback<Response> = (error, response) => {
        if (error) reject(error);
        else resolve(response as Response);
      };
      this.#channel.makeUnaryRequest(
        path, requestSerialize, responseDeserialize, request, tokens(token), options, done,
      );
    });
  }

  /** Retries a call until there is a response. The method must be idempotent. */
  async callWithRetry<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    for (const backoff = new Backoff(this); ; ) {
      try {
        return await this.call(method, request, undefined, CALL_MS);
      } catch (failure) {
        await backoff.wait(failure as Failure);
      }
    }
  }

  /** Opens a bidirectional stream, such as `match.Play`. */
  stream<Request, Response>(
    method: Method<Request, Response>, token?: string,
  ): grpc.ClientDuplexStream<Request, Response> {
    const { path, requestSerialize, responseDeserialize } = method;
    return this.#channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, tokens(token));
  }

  /** Returns the reason of an error of Boardwire, or an empty string for other errors, such as a lost connection. */
  reason({ metadata, details }: Failure): string {
    const { Status, ErrorInfo } = this.#google.rpc;
    const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
    const found = bytes === undefined ? details : Status.deserialize(bytes as Buffer).details;
    const info = Array.isArray(found) && found.find(({ type_url }) => type_url.endsWith("/google.rpc.ErrorInfo"));
    return info ? ErrorInfo.deserialize(info.value).reason : "";
  }

  close(): void {
    this.#channel.close();
  }
}

/** Counts consecutive failures. The pause grows with each failure, and more than 10 failures are an error. */
export class Backoff {
  #failures = 0;
  #last = 0;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** Resolves when it is time to retry. Rejects with the failure if a retry cannot help. */
  async wait(failure: Failure): Promise<void> {
    const { UNAVAILABLE, RESOURCE_EXHAUSTED } = grpc.status;
    // With `TIMED_OUT`, the server noticed the deadline before the client did.
    const isTransient = failure.code === UNAVAILABLE || failure.code === RESOURCE_EXHAUSTED
      || (failure.code !== undefined && ["", "TIMED_OUT"].includes(this.#client.reason(failure)));
    // After a minute without a failure, the count restarts.
    if (performance.now() - this.#last > 60_000) this.reset();
    this.#last = performance.now();
    if (!isTransient || ++this.#failures > 10) throw failure;
    await setTimeout(Math.min(50 * 2 ** this.#failures, 5_000));
  }
}

/** Returns the metadata of a call: the token of the account, and that of a seat or the host. */
function tokens(token?: string): grpc.Metadata {
  const metadata = new grpc.Metadata();
  const account = process.env["BOARDWIRE_ACCOUNT_TOKEN"];
  if (account) metadata.set("boardwire-token", account);
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

/** Returns the members of a bit set: member `i` is bit `i % 8` of byte `i / 8`. */
export function members(bits: Uint8Array): number[] {
  return Array.from({ length: bits.length * 8 }, (_, i) => i).filter((i) => (bits[i >> 3]! >> (i & 7)) & 1);
}
