#!/usr/bin/env bash
# Runs the Rust and Python tests where the machine is unlike the one they were written on: tools/shake.sh MODE [PYTEST ARGUMENT...]
#   one     on one core        idle    on all cores, with nothing beside them
#   busy    beside four busy loops     random  in random order: Rust's by a new seed, Python's by pytest-randomly
# `make build` comes first; the programs are compiled before the mode begins. Exits with 1 if a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:?one, idle, busy or random}
shift
under=() rust=() python=() loops=()
built=$(cargo test --release --locked --workspace --no-run --quiet --message-format=json)
mapfile -t programs < <(python3 -c 'import json, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("executable") and made["profile"]["test"]:
        print(made["executable"], made["manifest_path"].rpartition("/")[0])' <<<"$built")
stop() { [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}"; }
trap stop EXIT
case "$mode" in
    one) under=(taskset -c 0) ;;
    idle) ;;
    busy) for _ in 1 2 3 4; do (while :; do :; done) & loops+=($!); done ;;
    random)
        seed=$RANDOM
        echo "shake: seed $seed"
        # `--shuffle` is not stable in Rust's test programs, and this variable permits it to those that are compiled already.
        export RUSTC_BOOTSTRAP=1
        rust=(-Z unstable-options --shuffle-seed "$seed") python=(--randomly-seed "$seed")
        # In a folder of its own: pytest loads it wherever it finds it.
        .venv/bin/python -m pip install --quiet --no-deps --upgrade --target target/randomly pytest-randomly
        export PYTHONPATH=$PWD/target/randomly
        ;;
    *) echo "shake: the mode is one, idle, busy or random, not $mode" >&2; exit 2 ;;
esac
status=0 start=$SECONDS
for each in "${programs[@]}"; do
    read -r program folder <<<"$each"
    (cd "$folder" && "${under[@]}" "$program" --quiet "${rust[@]}") || { status=1 && echo "shake: $program failed"; }
done
echo "shake: Rust, $mode: $((SECONDS - start)) s"
unset RUSTC_BOOTSTRAP
start=$SECONDS
(cd client-py && "${under[@]}" ../.venv/bin/python -m pytest -q "${python[@]}" "$@") || status=1
echo "shake: Python, $mode: $((SECONDS - start)) s"
exit $status
