// A test harness for matches: the real server, agents as processes, and a host.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Client } from "./client.js";
import type { MatchConfig } from "./gen/boardwire/v1/MatchConfig.js";
import type { Game__Output as Game } from "./gen/boardwire/v1/Game.js";

/** Returns the absolute path of a file in the repository. */
export function path(relative: string): string {
  return fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
}

export const BINARY = process.env["BOARDWIRE_BINARY"] ?? path("target/release/boardwire");
const PYTHON = process.env["BOARDWIRE_PYTHON"] ?? path(".venv/bin/python");
/** The folder where `make test-agents` builds the agents in other languages. */
const AGENTS_FOLDER = process.env["BOARDWIRE_AGENTS"] ?? path("target/agents");

/** The commands of the agents. All take the same arguments and print the same lines. */
export const AGENTS = {
  typescript: [process.execPath, path("tests/node/dist/agent.js")],
  python: [PYTHON, path("tests/python/agent.py")],
  cpp: [join(AGENTS_FOLDER, "cpp/agent")],
  rust: [join(AGENTS_FOLDER, "rust/agent")],
  go: [join(AGENTS_FOLDER, "go/agent")],
  java: [join(AGENTS_FOLDER, "java/agent")],
};
export type Agent = keyof typeof AGENTS;

/** A server on a free port and on a Unix socket. It ends when its stdin closes, so it ends with this process. */
export interface Server {
  address: string;
  socket: string;
  /** The address of its watch page, if it has one. */
  page?: string;
  stop(): Promise<void>;
}

export async function startServer(flags: string[] = []): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "boardwire-"));
  const listen = ["--listen", "127.0.0.1:0", "--listen", `unix:${join(folder, "socket")}`];
  const server = spawn(BINARY, ["serve", ...listen, "--exit-with-stdin", "--log-level", "warn", ...flags], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = exitOf(server);
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  const listening = async (): Promise<string> => {
    const { value = "" } = await lines.next();
    const [, address] = /^(?:listening on|matches can be watched at) (.+)$/.exec(value) ?? [];
    if (address !== undefined) return address;
    server.kill();
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`${BINARY}, which \`make build\` builds, does not listen: ${await ended}`);
  };
  const stop = async (): Promise<void> => {
    server.stdin.end();
    const killTimer = global.setTimeout(() => server.kill("SIGKILL"), 10_000);
    const exit = await ended;
    clearTimeout(killTimer);
    rmSync(folder, { recursive: true, force: true });
    if (exit !== "exit code 0") throw new Error(`the server ended with ${exit}`);
  };
  const running = { address: await listening(), socket: await listening(), stop };
  return flags.includes("--watch-page") ? { ...running, page: await listening() } : running;
}

/** Waits for the end of a process and returns its exit code or signal. */
async function exitOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = await once(child, "close");
    return signal === null ? `exit code ${code}` : `signal ${signal}`;
  } catch (error) {
    return String(error);
  }
}

/**
 * Runs an agent at each seat of a match with a number of `episodes`, after which the agents end. Returns the lines that
 * each agent printed. If one agent fails, all are stopped.
 */
export async function runAgents(
  match: Hosted, agents: Agent[], addresses: string[], flags = ["--transcript"],
): Promise<string[][]> {
  const stop = new AbortController();
  try {
    return await Promise.all(match.codes.map((code, seat) => {
      const address = addresses[seat % addresses.length]!;
      return runAgent(agents[seat % agents.length]!, [address, code, ...flags], stop.signal);
    }));
  } finally {
    stop.abort();
  }
}

async function runAgent(agent: Agent, args: string[], signal: AbortSignal): Promise<string[]> {
  const [command, ...script] = AGENTS[agent];
  const child = spawn(command!, [...script, ...args], { signal, stdio: ["ignore", "pipe", "pipe"] });
  const [exit, printed, errors] = await Promise.all([exitOf(child), text(child.stdout), text(child.stderr)]);
  if (exit !== "exit code 0") throw new Error(`the ${agent} agent ended with ${exit}\n${errors}`);
  return printed.split("\n").slice(0, -1);
}

/** A match with the secrets of its host. */
export interface Hosted {
  matchId: string;
  hostToken: string;
  /** The codes of its invitations, in seat order. */
  codes: string[];
  options: Record<string, string>;
}

export async function createMatch(
  client: Client, game: string, names: string[], seed: number, settings: MatchConfig = {},
): Promise<Hosted> {
  const players = names.map((name) => (name === "agent" ? { agent: {} } : { bot: { name } }));
  const created = await client.call(client.match.CreateMatch, { config: { ...settings, game, players }, seed });
  const { id: matchId, config } = created.match!;
  const codes = created.invitations.map(({ code }) => code);
  return { matchId, hostToken: created.hostToken, codes, options: config!.options };
}

/** Joins a match and returns the token of the seat. */
export async function joinMatch(client: Client, code: string): Promise<string> {
  return (await client.call(client.match.JoinMatch, { code })).token;
}

export async function closeMatch(client: Client, { matchId, hostToken }: Hosted): Promise<void> {
  await client.call(client.match.CloseMatch, { matchId }, hostToken);
}

export async function listGames(client: Client): Promise<Game[]> {
  return (await client.call(client.catalog.ListGames, {})).games;
}
