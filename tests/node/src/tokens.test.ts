// Tests that texts for language models keep their budgets of tokens.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

import { path } from "./harness.js";

/** The program that prints the texts of greedy's episodes; `make build` builds it. */
const TEXTS = path("target/release/examples/texts");
const EPISODES = 20;

/** The maximum numbers of tokens at two seats, without the list of actions: the median of all texts, and of each text. */
const BUDGETS = {
  faraway: { median: 550, longest: 1400 },
  rauha: { median: 600, longest: 1400 },
  golden_compass: { median: 550, longest: 950 },
};

for (const [game, budget] of Object.entries(BUDGETS)) {
  test(`texts of ${game} keep their budget`, () => {
    const options = { encoding: "utf8", maxBuffer: 2 ** 30 } as const;
    const lines = execFileSync(TEXTS, [game, "2", String(EPISODES)], options).trimEnd().split("\n");
    const texts = lines.map((line) => (JSON.parse(line) as { text: string }).text);
    const counts = texts.map((text) => countTokens(text)).sort((one, other) => one - other);
    const [median = NaN, longest = NaN] = [counts[counts.length >> 1], counts.at(-1)];
    const found = `${texts.length} texts: median ${median}, longest ${longest}`;
    assert.ok(median <= budget.median && longest <= budget.longest, found);
  });
}
