// Pages as people use them, in a browser: by mouse, by keyboard and as a screen reader tells them.

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
/** Finds what people who do not see or use no mouse stumble over. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");
const limit = { timeout: 120_000 };

let browser: Browser;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "boardwire-pages-"));
  browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}, limit);

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A page that says nothing on the console and asks nobody but its own server, if that is not itself. */
async function open(url: string): Promise<{ page: Page; complaints: string[]; asked: Set<string> }> {
  const page = await browser.newPage({ viewport: { width: 1100, height: 1000 } });
  const complaints: string[] = [];
  const asked = new Set<string>();
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.add(new URL(request.url()).pathname));
  await page.goto(url);
  return { page, complaints, asked };
}

async function assertUsable(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const found = await page.evaluate("axe.run()") as { violations: { id: string; nodes: { html: string }[] }[] };
  assert.deepEqual(found.violations.map(({ id, nodes }) => [id, nodes[0]?.html]), []);
}

function film(game: string, seats: string): string {
  const file = join(folder, `${game}.html`);
  execFileSync(BINARY, ["play", game, "--seats", seats, "--seed", "7", "--html", file], { stdio: "pipe" });
  return pathToFileURL(file).href;
}

for (const game of ["faraway", "rauha", "golden_compass"]) {
  test(`a recorded match of ${game} is stepped through by keyboard`, limit, async () => {
    const { page, complaints, asked } = await open(film(game, "greedy,random"));
    const caption = page.locator("#caption");
    const shown = async () => Number((await caption.innerText()).split(" ")[0]);
    assert.match(await caption.innerText(), /^0 of \d+: the deal$/);
    const last = Number((await caption.innerText()).split(" ")[2]?.replace(":", ""));
    for (const [key, at] of [["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1], ["End", last], ["Home", 0]] as const) {
      await page.keyboard.press(key);
      assert.equal(await shown(), at, key);
    }
    await page.keyboard.press("Space");
    await caption.filter({ hasText: /^2 of/ }).waitFor();
    assert.equal(await page.locator("#play").innerText(), "Pause");
    await page.keyboard.press("Space");
    assert(await page.locator("#scores").isHidden());
    await page.keyboard.press("End");
    // A row for each seat, with its points and where they came from.
    const rows = await page.locator("#scores tbody tr").allInnerTexts();
    assert.equal(rows.length, 2);
    assert(rows.every((row) => /^seat \d \((greedy|random)\)\s+[12]\s+-?\d+\s+\S/.test(row)), rows.join("\n"));
    await assertUsable(page);
    assert.deepEqual(complaints, []);
    assert.deepEqual([...asked].filter((path) => !path.endsWith(`${game}.html`)), []);
  });
}

test("every viewer is shown what it saw, and no more", limit, async () => {
  const { page } = await open(film("faraway", "greedy,random"));
  const hands = async (viewer: string) => {
    await page.locator("#viewer").selectOption({ label: viewer });
    const picture = await page.locator("#picture svg").innerHTML();
    return { hand: picture.includes(">hand</text>"), words: await page.locator("#text").textContent() };
  };
  const [own, other, publicView] = [
    await hands("seat 0 (greedy)"), await hands("seat 1 (random)"), await hands("public view"),
  ];
  assert(own.hand && other.hand && !publicView.hand);
  assert(own.words?.includes("your hand") && !publicView.words?.includes("your hand"));
  assert.notEqual(own.words, other.words);
});

test("a decision is gone to from the list", limit, async () => {
  const { page } = await open(film("faraway", "greedy,random"));
  await page.getByText("All decisions").click();
  await page.locator("#decisions button").nth(5).click();
  assert.match(await page.locator("#caption").innerText(), /^5 of /);
  assert.equal(await page.locator("#decisions button[aria-current=true]").count(), 1);
});

/** Makes the lowest legal decision of a seat, when it owes one; gives whether the episode was over instead. */
async function decide(client: Client, { matchId }: Hosted, token: string): Promise<boolean> {
  const { observation } = await client.call(client.match.Observe, { matchId, wait: true }, token);
  const { episode, decision, mask, terminated } = observation!;
  if (!terminated) {
    await client.call(client.match.Act, { matchId, episode, decision, action: members(mask)[0]! }, token);
  }
  return terminated;
}

test("a match is followed live, and nothing else can be called", limit, async () => {
  const server: Server = await startServer(["--watch-page", "127.0.0.1:0"]);
  const client = new Client(server.address);
  try {
    const match = await createMatch(client, "faraway", ["agent", "greedy"], 7);
    const token = await joinMatch(client, match.codes[0]!);
    const { page, complaints, asked } = await open(server.page!);
    const caption = page.locator("#caption");
    await caption.filter({ hasText: "the deal" }).or(caption.filter({ hasText: "has decided" })).waitFor();
    const before = Number((await caption.innerText()).split(" ")[0]);
    let decisions = 0;
    while (!await decide(client, match, token)) decisions++;
    await page.locator("#scores tbody tr").nth(1).waitFor();
    assert(Number((await caption.innerText()).split(" ")[0]) > before + decisions);
    assert(!(await page.locator("#picture svg").innerHTML()).includes(">hand</text>"));
    await assertUsable(page);
    await closeMatch(client, match);
    await page.getByText("has been closed").waitFor();
    assert.deepEqual(complaints, []);
    const calls = [...asked].filter((path) => path !== "/").map((path) => path.split("/").at(-1)).sort();
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

test("a match is followed on when its server has been started again, and frames have gone", limit, async () => {
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
  const place = ["--watch-page", new URL(server!.page!).host];
  try {
    const match = await createMatch(client!, "faraway", ["agent", "agent"], 7);
    const tokens = await Promise.all(match.codes.map((code) => joinMatch(client, code)));
    const { page } = await open(server!.page!);
    const shows = (caption: string) => page.getByText(caption, { exact: true }).waitFor();
    await shows("0 of 0: the deal");
    await decide(client!, match, tokens[0]!);
    await shows("1 of 1: seat 0 (agent) has decided");
    await stop();
    await start(...place);
    await decide(client!, match, tokens[1]!);
    await shows("2 of 2: seat 1 (agent) has decided");
    await shows(`match ${match.matchId}, live`);
    // While the page is away, more episodes are played than are kept.
    await stop();
    await start();
    for (let episode = 0; episode < 6; episode++) {
      await client!.call(client!.match.Resign, { matchId: match.matchId, seat: 0 }, match.hostToken);
      await client!.call(client!.match.ResetMatch, { matchId: match.matchId }, match.hostToken);
    }
    await stop();
    await start(...place);
    await shows("3 of 3: episode 6, the deal");
    await shows(`match ${match.matchId}, live`);
  } finally {
    await stop();
  }
});

test("a match is followed on when a backup of its journal has been put back, with fewer frames", limit, async () => {
  const [journal, backup] = [join(folder, "restored"), join(folder, "backup")];
  const start = async (...flags: string[]) => startServer(["--journal", journal, ...flags]);
  let server = await start("--watch-page", "127.0.0.1:0");
  const place = ["--watch-page", new URL(server.page!).host];
  let client = new Client(server.address);
  const again = async (meanwhile: () => void) => {
    client.close();
    await server.stop();
    meanwhile();
    server = await start(...place);
    client = new Client(server.address);
  };
  try {
    const match = await createMatch(client, "faraway", ["agent", "agent"], 7);
    const tokens = await Promise.all(match.codes.map((code) => joinMatch(client, code)));
    await again(() => cpSync(journal, backup));
    const { page } = await open(server.page!);
    const shows = (caption: string) => page.getByText(caption, { exact: true }).waitFor();
    await decide(client, match, tokens[0]!);
    await decide(client, match, tokens[1]!);
    await shows("2 of 2: seat 1 (agent) has decided");
    await again(() => cpSync(backup, journal));
    await shows("3 of 3: the deal");
    await decide(client, match, tokens[1]!);
    await shows("4 of 4: seat 1 (agent) has decided");
    await shows(`match ${match.matchId}, live`);
  } finally {
    client.close();
    await server.stop();
  }
});

test("all open matches are listed, however many pages they fill, and no closed one", limit, async () => {
  const server: Server = await startServer(["--watch-page", "127.0.0.1:0"]);
  const client = new Client(server.address);
  try {
    const matches = await Promise.all(Array.from({ length: 6 }, (_, seed) => (
      createMatch(client, "faraway", ["agent", "greedy"], seed)
    )));
    await Promise.all(matches.slice(3).map((match) => closeMatch(client, match)));
    const { page } = await open("about:blank");
    await page.route("**/ListMatches", (route) => {
      // One match on a page.
      const asked = Buffer.concat([route.request().postDataBuffer()!, Buffer.of(8, 1)]);
      asked.writeUInt32BE(asked.length - 5, 1);
      return route.continue({ postData: asked });
    });
    await page.goto(server.page!);
    await page.locator("#match option").nth(2).waitFor({ state: "attached" });
    const listed = await page.locator("#match option").evaluateAll((all) => (
      all.map((option) => option.getAttribute("value"))
    ));
    assert.deepEqual(listed, matches.slice(0, 3).map(({ matchId }) => matchId).sort());
    await page.getByText(`match ${listed[0]}, live`).waitFor();
  } finally {
    client.close();
    await server.stop();
  }
});
