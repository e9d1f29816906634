#!/usr/bin/env bash
# Mutation tests of the rules of one game: `tools/mutants.sh faraway`. cargo-mutants makes one change at a time, and the
# script lists the changes that no test detects. The arguments after the game select mutants like those of
# `cargo mutants --list`: `--shard 0/4 --sharding round-robin`, `-F scoring.rs`.
#
# It runs four rounds, each with the mutants that the last round missed: the quick tests of the game, which detect most
# within a second; slower tests; the laws, playthroughs and counts; all tests of the game. It changes a copy of the
# sources in target/mutants/<game>, so you can edit the sources meanwhile. The lists of mutants are there too.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: tools/mutants.sh faraway|rauha|golden_compass [--shard K/N] [-F REGEX]"
game=${1:?$usage}
shift
rules=server/games/src/$game
[ -d "$rules" ] || { echo "$usage" >&2; exit 2; }

tools=$PWD/target/tools
[ -x "$tools/bin/cargo-mutants" ] || cargo install cargo-mutants --locked --root "$tools"
export PATH="$tools/bin:$PATH"

out=$PWD/target/mutants/$game
mkdir -p "$out/tree"
rm -f "$out"/*.txt
export CARGO_TARGET_DIR=$out/build CARGO_PROFILE_DEV_DEBUG=false GAME=$game
# Cargo runs test programs through the command in this variable.
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=$PWD/tools/bounded.sh"

# Copies only changed files, so that Cargo does not recompile the others, and removes deleted files.
git ls-files -co --exclude-standard | while IFS= read -r file; do
    [ ! -f "$file" ] || echo "$file"
done | sort >"$out/files.txt"
while IFS= read -r file; do
    cmp -s "$file" "$out/tree/$file" || { mkdir -p "$out/tree/$(dirname "$file")" && cp "$file" "$out/tree/$file"; }
done <"$out/files.txt"
(cd "$out/tree" && find . -type f -printf '%P\n' | sort | comm -13 ../files.txt - | xargs -r -d '\n' rm --)
cd "$out/tree"

files=()
for part in turn legal scoring card_sets quests view memory resample paths observe; do
    files+=(-f "$rules/$part.rs" -f "$rules/$part/**/*.rs")
done
cargo mutants --list "${files[@]}" | sort >"$out/all.txt"
cargo mutants --list "${files[@]}" "$@" | sort >"$out/missed.txt"
cp "$out/missed.txt" "$out/chosen.txt"

# Runs the tests of some targets on the mutants missed so far. All other mutants count as caught.
round() {
    local name=$1 profile=$2 targets=() status=0
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        targets+=(-C "$1")
        shift
    done
    [ -s "$out/missed.txt" ] || return 0
    echo "== $name: $(wc -l <"$out/missed.txt") mutants"
    rm -rf "$out/mutants.out"
    mkdir "$out/mutants.out"
    comm -23 "$out/all.txt" "$out/missed.txt" >"$out/mutants.out/caught.txt"
    nice cargo mutants --in-place --iterate --output "$out" --colors never --profile "$profile" \
        "${files[@]}" "${targets[@]}" "$@" || status=$?
    # 2: some mutants were missed. 3: some tests timed out, which also counts as detected.
    [ "$status" -eq 0 ] || [ "$status" -eq 2 ] || [ "$status" -eq 3 ] || exit "$status"
    for kind in caught unviable timeout; do
        cat "$out/mutants.out/$kind.txt" >>"$out/$kind.txt"
    done
    sort "$out/mutants.out/missed.txt" >"$out/missed.txt"
}

# Without optimization, these take seconds each and the others milliseconds.
slow=(frequencies:: worlds_are_drawn_as_often a_memory_never_excludes every_copy_is_as_likely one_joker_came_back
    cards_of_a_discard_pile_that a_sample_gives a_hand_that_leaves)
# These take longer still.
slower=(drawn_as_enumerated every_world_drawn_has positions_of_a_deck_that_ran_round random_tableaus
    resample_forgets who_have_not_read a_history_is_found a_snapshot_with_broken_bytes
    a_card_surely_among_five memories_agree that_a_memory_allows_is_sampled)

# A build without optimization is fastest.
round "quick tests" dev --lib -- -- "$game::" "${slow[@]/#/--skip=}" "${slower[@]/#/--skip=}"
BOARDWIRE_LAW_BIAS=2 round "slow tests" dev --lib -- -- "$game::" "${slower[@]/#/--skip=}"
BOARDWIRE_LAW_GAMES=3 round "laws and goldens" mutants --test=integration
round "all tests" mutants --lib -- -- "$game::"

echo
for kind in chosen unviable caught timeout missed; do
    touch "$out/$kind.txt"
    printf '%-9s%4d\n' "$kind" "$(wc -l <"$out/$kind.txt")"
done
cat "$out/missed.txt"
[ ! -s "$out/missed.txt" ]
