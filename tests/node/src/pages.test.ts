// The replay and watch pages in a browser: mouse, keyboard and accessibility.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { Client, members } from "./client.js";
import { BINARY, closeMatch, createMatch, joinMatch, startServer, type Hosted, type Server } from "./harness.js";

const CHROMIUM = process.env["BOARDWIRE_CHROMIUM"] ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
/** The accessibility checker. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const options = { timeout: 120_000 };

let browser: Browser;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "boardwire-pages-"));
  browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}, options);

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a page; records its console messages and errors, and the paths of its requests. */
async function open(url: string): Promise<{ page: Page; messages: string[]; requested: Set<string> }> {
  const page = await browser.newPage({ viewport: { width: 1100, height: 1000 } });
  const messages: string[] = [];
  const requested = new Set<string>();
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  page.on("request", (request) => requested.add(new URL(request.url()).pathname));
  await page.goto(url);
  return { page, messages, requested };
}

async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const results = await page.evaluate("axe.run()") as { violations: { id: string; nodes: { html: string }[] }[] };
  assert.deepEqual(results.violations.map(({ id, nodes }) => [id, nodes[0]?.html]), []);
}

function replayPage(game: string, seats: string): string {
  const file = join(folder, `${game}.html`);
  execFileSync(BINARY, ["play", game, "--seats", seats, "--seed", "7", "--html", file], { stdio: "pipe" });
  return pathToFileURL(file).href;
}

for (const game of ["faraway", "rauha", "golden_compass"]) {
  test(`keys step through a replay of ${game}`, options, async () => {
    const { page, messages, requested } = await open(replayPage(game, "greedy,random"));
    const caption = page.locator("#caption");
    const position = async () => Number((await caption.innerText()).split(" ")[0]);
    assert.match(await caption.innerText(), /^0 of \d+: the deal$/);
    const last = Number((await caption.innerText()).split(" ")[2]?.replace(":", ""));
    const steps = [
      ["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1], ["End", last], ["Home", 0],
    ] as const;
    for (const [key, expected] of steps) {
      await page.keyboard.press(key);
      assert.equal(await position(), expected, key);
    }
    await page.keyboard.press("Space");
    await caption.filter({ hasText: /^2 of/ }).waitFor();
    assert.equal(await page.locator("#play").innerText(), "Pause");
    await page.keyboard.press("Space");
    assert(await page.locator("#scores").isHidden());
    await page.keyboard.press("End");
    // Each seat has a row with its points and their explanation.
    const rows = await page.locator("#scores tbody tr").allInnerTexts();
    assert.equal(rows.length, 2);
    assert(rows.every((row) => /^seat \d \((greedy|random)\)\s+[12]\s+-?\d+\s+\S/.test(row)), rows.join("\n"));
    await assertAccessible(page);
    assert.deepEqual(messages, []);
    assert.deepEqual([...requested].filter((path) => !path.endsWith(`${game}.html`)), []);
  });
}

test("each viewer gets only its own view", options, async () => {
  const { page } = await open(replayPage("faraway", "greedy,random"));
  const viewOf = async (viewer: string) => {
    await page.locator("#viewer").selectOption({ label: viewer });
    const picture = await page.locator("#picture svg").innerHTML();
    return { hand: picture.includes(">hand</text>"), text: await page.locator("#text").textContent() };
  };
  const [own, other, publicView] = [
    await viewOf("seat 0 (greedy)"), await viewOf("seat 1 (random)"), await viewOf("public view"),
  ];
  assert(own.hand && other.hand && !publicView.hand);
  assert(own.text?.includes("(you)") && !publicView.text?.includes("(you)"));
  assert.notEqual(own.text, other.text);
});

test("a click on a listed decision opens its position", options, async () => {
  const { page } = await open(replayPage("faraway", "greedy,random"));
  await page.getByText("All decisions").click();
  await page.locator("#decisions button").nth(5).click();
  assert.match(await page.locator("#caption").innerText(), /^5 of /);
  assert.equal(await page.locator("#decisions button[aria-current=true]").count(), 1);
});

/** Plays the lowest legal action of a seat when it is pending. Returns whether the episode was over instead. */
async function decide(client: Client, { matchId }: Hosted, token: string): Promise<boolean> {
  const { observation } = await client.call(client.match.Observe, { matchId, wait: true }, token);
  const { episode, decision, mask, terminated } = observation!;
  if (!terminated) {
    await client.call(client.match.Act, { matchId, episode, decision, action: members(mask)[0]! }, token);
  }
  return terminated;
}

test("the watch page follows a match and calls no other method", options, async () => {
  const server: Server = await startServer(["--watch-page", "127.0.0.1:0"]);
  const client = new Client(server.address);
  try {
    const match = await createMatch(client, "faraway", ["agent", "greedy"], 7);
    const token = await joinMatch(client, match.codes[0]!);
    const { page, messages, requested } = await open(server.page!);
    const caption = page.locator("#caption");
    await caption.filter({ hasText: "the deal" }).or(caption.filter({ hasText: "has decided" })).waitFor();
    const before = Number((await caption.innerText()).split(" ")[0]);
    let decisions = 0;
    while (!await decide(client, match, token)) decisions++;
    await page.locator("#scores tbody tr").nth(1).waitFor();
    assert(Number((await caption.innerText()).split(" ")[0]) > before + decisions);
    assert(!(await page.locator("#picture svg").innerHTML()).includes(">hand</text>"));
    await assertAccessible(page);
    await closeMatch(client, match);
    await page.getByText("has been closed").waitFor();
    assert.deepEqual(messages, []);
    const calls = [...requested].filter((path) => path !== "/").map((path) => path.split("/").at(-1)).sort();
    assert.deepEqual(calls, ["ListMatches", "Watch"]);
    const forbidden = await fetch(`${server.page}/boardwire.v1.MatchService/CreateMatch`, {
      method: "POST", headers: { "content-type": "application/grpc-web+proto" }, body: new Uint8Array(5),
    });
    assert.equal(forbidden.status, 404);
  } finally {
    client.close();
    await server.stop();
  }
});

test("the watch page continues after restarts of the server and after lost frames", options, async () => {
  const journal = ["--journal", join(folder, "journal")];
  let server: Server;
  let client: Client;
  const start = async (...flags: string[]) => {
    server = await startServer([...journal, ...flags]);
    client = new Client(server.address);
  };
  const stop = async () => {
    client.close();
    await server.stop();
  };
  await start("--watch-page", "127.0.0.1:0");
  const sameAddress = ["--watch-page", new URL(server!.page!).host];
  try {
    const match = await createMatch(client!, "faraway", ["agent", "agent"], 7);
    const tokens = await Promise.all(match.codes.map((code) => joinMatch(client, code)));
    const { page } = await open(server!.page!);
    const waitForText = (caption: string) => page.getByText(caption, { exact: true }).waitFor();
    await waitForText("0 of 0: the deal");
    await decide(client!, match, tokens[0]!);
    await waitForText("1 of 1: seat 0 (agent) has decided");
    await stop();
    await start(...sameAddress);
    await decide(client!, match, tokens[1]!);
    await waitForText("2 of 2: seat 1 (agent) has decided");
    await waitForText(`match ${match.matchId}, live`);
    // Without the watch page, the match plays more episodes than the server stores.
    await stop();
    await start();
    for (let episode = 0; episode < 6; episode++) {
      await client!.call(client!.match.Resign, { matchId: match.matchId, seat: 0 }, match.hostToken);
      await client!.call(client!.match.ResetMatch, { matchId: match.matchId }, match.hostToken);
    }
    await stop();
    await start(...sameAddress);
    await waitForText("3 of 3: episode 6, the deal");
    await waitForText(`match ${match.matchId}, live`);
  } finally {
    await stop();
  }
});

test("the watch page continues after a restored backup of the journal with fewer frames", options, async () => {
  const [journal, backup] = [join(folder, "restored"), join(folder, "backup")];
  const start = async (...flags: string[]) => startServer(["--journal", journal, ...flags]);
  let server = await start("--watch-page", "127.0.0.1:0");
  const sameAddress = ["--watch-page", new URL(server.page!).host];
  let client = new Client(server.address);
  const restart = async (whileStopped: () => void) => {
    client.close();
    await server.stop();
    whileStopped();
    server = await start(...sameAddress);
    client = new Client(server.address);
  };
  try {
    const match = await createMatch(client, "faraway", ["agent", "agent"], 7);
    const tokens = await Promise.all(match.codes.map((code) => joinMatch(client, code)));
    await restart(() => cpSync(journal, backup));
    const { page } = await open(server.page!);
    const waitForText = (caption: string) => page.getByText(caption, { exact: true }).waitFor();
    await decide(client, match, tokens[0]!);
    await decide(client, match, tokens[1]!);
    await waitForText("2 of 2: seat 1 (agent) has decided");
    await restart(() => cpSync(backup, journal));
    await waitForText("3 of 3: the deal");
    await decide(client, match, tokens[1]!);
    await waitForText("4 of 4: seat 1 (agent) has decided");
    await waitForText(`match ${match.matchId}, live`);
  } finally {
    client.close();
    await server.stop();
  }
});

test("the watch page lists all open matches across pages and no closed match", options, async () => {
  const server: Server = await startServer(["--watch-page", "127.0.0.1:0"]);
  const client = new Client(server.address);
  try {
    const matches = await Promise.all(Array.from({ length: 6 }, (_, seed) => (
      createMatch(client, "faraway", ["agent", "greedy"], seed)
    )));
    await Promise.all(matches.slice(3).map((match) => closeMatch(client, match)));
    const { page } = await open("about:blank");
    await page.route("**/ListMatches", (route) => {
      // Sets `page_size` to 1.
      const request = Buffer.concat([route.request().postDataBuffer()!, Buffer.of(8, 1)]);
      request.writeUInt32BE(request.length - 5, 1);
      return route.continue({ postData: request });
    });
    await page.goto(server.page!);
    await page.locator("#match option").nth(2).waitFor({ state: "attached" });
    const listed = await page.locator("#match option").evaluateAll((elements) => (
      elements.map((option) => option.getAttribute("value"))
    ));
    assert.deepEqual(listed, matches.slice(0, 3).map(({ matchId }) => matchId).sort());
    await page.getByText(`match ${listed[0]}, live`).waitFor();
  } finally {
    client.close();
    await server.stop();
  }
});
