// A channel to a Boardwire server, with the calls typed as the protocol states them.

import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync, type MethodDefinition } from "@grpc/proto-loader";
import type { ProtoGrpcType as CatalogProtocol } from "./gen/catalog.js";
import type { ProtoGrpcType as MatchProtocol } from "./gen/match_service.js";

/** Where the protocol lies, seen from `src` and `dist` alike: the folder that holds `boardwire/v1`. */
const PROTOCOL = fileURLToPath(new URL("../../../proto", import.meta.url));
const FILES = ["boardwire/v1/catalog.proto", "boardwire/v1/match_service.proto"];

/** How long a call may take, which may have to wait for other seats. */
const WAIT_MS = 600_000;

type Method<Request, Answer> = MethodDefinition<Request, any, any, Answer>;

export class Client {
  /** The methods of the services, for `call` and `stream`. */
  readonly catalog: CatalogProtocol["boardwire"]["v1"]["CatalogService"]["service"];
  readonly match: MatchProtocol["boardwire"]["v1"]["MatchService"]["service"];
  readonly #channel: grpc.Client;

  /** Dials `host:port` or `unix:/path` at the first call. */
  constructor(address: string, protocol = PROTOCOL) {
    const options = { includeDirs: [protocol], longs: String, enums: String, defaults: true, oneofs: true };
    const loaded = grpc.loadPackageDefinition(loadSync(FILES, options));
    const { v1 } = (loaded as unknown as CatalogProtocol & MatchProtocol).boardwire;
    this.catalog = v1.CatalogService.service;
    this.match = v1.MatchService.service;
    this.#channel = new grpc.Client(address, grpc.credentials.createInsecure());
  }

  /** One call. The token is a seat's or the host's; a refusal rejects with a `grpc.ServiceError`. */
  call<Request, Answer>(method: Method<Request, Answer>, request: Request, token?: string): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = method;
    const options = { deadline: Date.now() + WAIT_MS };
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

  /** A stream both ways, such as `match.Play`. */
  stream<Request, Answer>(
    method: Method<Request, Answer>, token?: string,
  ): grpc.ClientDuplexStream<Request, Answer> {
    const { path, requestSerialize, responseDeserialize } = method;
    return this.#channel.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, bearer(token));
  }

  close(): void {
    this.#channel.close();
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
