
/* A client for watching matches, with as much of gRPC-Web and protocol buffers as it needs. */

const utf8 = new TextDecoder();

/** Decodes a message: its fields by number, each a list of numbers or of byte arrays. */
function message(bytes) {
  const fields = new Map();
  let at = 0;
  const varint = () => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  };
  const slice = (length) => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const key = varint();
    const [number, kind] = [Math.floor(key / 8), key % 8];
    const value = kind === 0 ? varint() : slice(kind === 2 ? varint() : kind === 1 ? 8 : 4);
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  const all = (number) => fields.get(number) ?? [];
  return {
    all,
    has: (number) => fields.has(number),
    number: (number) => all(number).at(-1) ?? 0,
    text: (number) => utf8.decode(all(number).at(-1) ?? new Uint8Array()),
    message: (number) => message(all(number).at(-1) ?? new Uint8Array()),
  };
}

/** Decodes packed numbers. */
function packed(bytes, signed) {
  const numbers = [];
  for (let at = 0, value = 0, scale = 1; at < bytes.length; at++) {
    value += (bytes[at] % 128) * scale;
    scale *= 128;
    if (bytes[at] < 128) {
      numbers.push(!signed ? value : value % 2 ? -(value + 1) / 2 : value / 2);
      [value, scale] = [0, 1];
    }
  }
  return numbers;
}

const varint = (value) => (value < 128 ? [value] : [128 + (value % 128), ...varint(Math.floor(value / 128))]);
const numberField = (number, value) => [...varint(8 * number), ...varint(value)];
const textField = (number, text) => {
  const bytes = new TextEncoder().encode(text);
  return [...varint(8 * number + 2), ...varint(bytes.length), ...bytes];
};

/** The parameters after `#` in the address: account, token and match. The page sends them only as these headers. */
const parameters = new URLSearchParams(location.hash.slice(1));

function headers() {
  const all = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" };
  if (parameters.has("account")) all["boardwire-token"] = parameters.get("account");
  if (parameters.has("token")) all.authorization = `Bearer ${parameters.get("token")}`;
  return all;
}

class StatusError extends Error {
  constructor(status, message) {
    super(decodeURIComponent(message ?? `status ${status}`));
    this.status = Number(status);
  }
}

/** Statuses of frames that do not exist or are not kept, and temporary ones of a busy or unreachable server. */
const [INVALID_ARGUMENT, NOT_FOUND, RESOURCE_EXHAUSTED, UNAVAILABLE] = [3, 5, 8, 14];

function check(status, message) {
  if (status !== null && status !== "0") throw new StatusError(status, message);
}

/** Makes a call and yields its responses as they arrive. */
async function* call(method, fields, signal) {
  const request = Uint8Array.from([0, ...[24, 16, 8, 0].map((shift) => (fields.length >> shift) % 256), ...fields]);
  const path = `boardwire.v1.MatchService/${method}`;
  const response = await fetch(path, { method: "POST", headers: headers(), body: request, signal });
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  check(response.headers.get("grpc-status"), response.headers.get("grpc-message"));
  let rest = new Uint8Array();
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const bytes = new Uint8Array(rest.length + value.length);
    bytes.set(rest);
    bytes.set(value, rest.length);
    rest = bytes;
    while (rest.length >= 5) {
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(1);
      if (rest.length < 5 + length) break;
      const body = rest.subarray(5, 5 + length);
      if (rest[0] >= 128) {
        const trailers = new Map(utf8.decode(body).trim().split("\r\n").map((line) => line.split(/:\s?(.*)/s, 2)));
        check(trailers.get("grpc-status") ?? null, trailers.get("grpc-message"));
      } else yield message(body);
      rest = rest.subarray(5 + length);
    }
  }
}

const FORFEITS = ["", "an illegal action", "its time ran out", "resigned", "given up by the host"];

/** The scores of a frame, if its episode has ended. */
function ended(frame, players) {
  if (!frame.has(10)) return undefined;
  const outcome = frame.message(10);
  const [scores, places, forfeits] = [[1, true], [2, false], [3, false]].map(([number, signed]) =>
    packed(outcome.all(number).at(-1) ?? [], signed));
  return players.map((player, seat) => ({
    name: `seat ${seat} (${player})`,
    place: places[seat] ?? "",
    points: scores[seat] ?? FORFEITS[forfeits[seat] ?? 0],
    lines: [],
  }));
}

function caption(frame, players) {
  const episode = frame.number(2) ? `episode ${frame.number(2)}, ` : "";
  if (frame.has(7)) return `${episode}seat ${frame.number(7)} (${players[frame.number(7)]}) has decided`;
  return episode + (frame.has(10) ? "a seat has forfeited" : "the deal");
}

/** The name of a player, such as `agent`, `mc:160`, `policy:lion:argmax` or `search:lion:40`. */
function named(bytes) {
  const player = message(bytes);
  if (player.has(1)) return "agent";
  const [bot, policy] = [player.message(2), player.message(3)];
  const parameters = () => bot.all(2).map((entry) => message(entry).number(2));
  if (player.has(2)) return [bot.text(1), ...(bot.has(3) ? [bot.text(3)] : []), ...parameters()].join(":");
  return `policy:${policy.text(1)}${policy.number(2) ? ":argmax" : ""}`;
}

const say = (text) => (element("about").textContent = text);
const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** Follows a match until the user selects another one. */
async function follow({ id, game, players }, signal) {
  reset(`${game.replaceAll("_", " ")}: ${players.join(", ")}`, "", ["public view"]);
  let after = 0;
  while (!signal.aborted) {
    try {
      say(`match ${id}, live`);
      const fields = [...textField(1, id), ...(after === null ? [] : numberField(2, after)), ...numberField(3, 1)];
      for await (const response of call("Watch", fields, signal)) {
        const [frame, depiction] = [response.message(1), response.message(2)];
        const view = { svg: depiction.text(1), text: depiction.text(2) };
        add({ caption: caption(frame, players), seen: () => view, scores: ended(frame, players) });
        draw();
        after = frame.number(1);
      }
      return say(`match ${id} has been closed`);
    } catch (error) {
      if (signal.aborted) return;
      say(error.message);
      // The server may not keep the next frames, or have restored a backup with fewer: continue with the current frame.
      if (after !== null && [INVALID_ARGUMENT, NOT_FOUND].includes(error.status)) after = null;
      else if (error instanceof StatusError && ![RESOURCE_EXHAUSTED, UNAVAILABLE].includes(error.status)) return;
      await pause(2);
    }
  }
}

let following = new AbortController();

function choose(match) {
  following.abort();
  following = new AbortController();
  if (match !== undefined) follow(match, following.signal);
}

/** The states of open matches: playing, over, gathering. */
const OPEN = [1, 2, 4].flatMap((state) => numberField(4, state));

/** The match of the address, or all open public matches, page by page. */
async function* pages() {
  if (parameters.has("match")) return yield* call("GetMatch", textField(1, parameters.get("match")));
  let token = "";
  do {
    const fields = [...textField(2, token), ...OPEN];
    token = "";
    for await (const page of call("ListMatches", fields)) {
      token = page.text(2);
      yield page;
    }
  } while (token !== "");
}

/** Updates the list of matches for ever, and follows the first one immediately. */
async function live() {
  const matches = new Map();
  element("choose").hidden = false;
  element("match").onchange = (event) => choose(matches.get(event.target.value));
  for (;;) {
    try {
      const open = new Set();
      for await (const page of pages()) {
        for (const bytes of page.all(1)) {
          const match = message(bytes);
          const config = match.message(2);
          const [id, game, players] = [match.text(1), config.text(1), config.all(2).map(named)];
          open.add(id);
          if (matches.has(id)) continue;
          matches.set(id, { id, game, players });
          element("match").append(create("option", `${game}: ${players.join(", ")} (${id})`, { value: id }));
          if (matches.size === 1) choose(matches.get(id));
        }
      }
      for (const ended of [...element("match").options].filter(({ value, selected }) => !selected && !open.has(value))) {
        matches.delete(ended.value);
        ended.remove();
      }
      if (matches.size === 0) say("There is no open public match.");
    } catch (error) {
      // The stream of a followed match reports its own errors.
      if (matches.size === 0) say(error.message);
    }
    await pause(5);
  }
}

if (data === null) live();
