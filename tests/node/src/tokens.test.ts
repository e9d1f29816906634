// Texts for language models stay within their budgets of tokens.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/** The program that prints each text of greedy's episodes. */
const TEXTS = fileURLToPath(new URL('../../../target/release/examples/texts', import.meta.url))
const EPISODES = 20

/** The most tokens of a text at two seats: the median of all decisions, and the longest. */
const BUDGETS: Record<string, [median: number, longest: number]> = {
  faraway: [550, 1400],
  rauha: [600, 1400],
  golden_compass: [550, 950],
}

for (const [game, [median, longest]] of Object.entries(BUDGETS)) {
  test(`texts of ${game} keep their budget`, () => {
    const printed = execFileSync(TEXTS, [game, '2', String(EPISODES)], { encoding: 'utf8', maxBuffer: 2 ** 30 })
    const texts = printed.trimEnd().split('\n').map((line) => (JSON.parse(line) as { text: string }).text)
    const counts = texts.map((text) => countTokens(text)).sort((one, other) => one - other)
    const found = { median: counts[counts.length >> 1], longest: counts.at(-1) }
    assert.ok(found.median! <= median && found.longest! <= longest, `${game} has ${JSON.stringify(found)}`)
  })
}
