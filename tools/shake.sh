#!/usr/bin/env bash
# Runs the Rust and Python tests under unusual conditions: tools/shake.sh MODE [PYTEST ARGUMENT...]
#   one     on one core        idle    on all cores, without other load
#   busy    beside four busy loops     random  in random order: Rust with a new seed, Python with pytest-randomly
# Run `make build` first. The script compiles the programs before the mode starts. It exits with 1 if a test failed.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:?one, idle, busy or random}
shift
prefix=() rust=() python=() loops=()
built=$(cargo test --release --locked --workspace --no-run --quiet --message-format=json)
mapfile -t programs < <(python3 -c 'import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["profile"]["test"]:
        print(message["executable"], message["manifest_path"].rpartition("/")[0])' <<<"$built")
stop() { [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}"; }
trap stop EXIT
case "$mode" in
    one) prefix=(taskset -c 0) ;;
    idle) ;;
    busy) for _ in 1 2 3 4; do (while :; do :; done) & loops+=($!); done ;;
    random)
        seed=$RANDOM
        echo "shake: seed $seed"
        # `--shuffle` is unstable in Rust's test programs. This variable permits it without a new compilation.
        export RUSTC_BOOTSTRAP=1
        rust=(-Z unstable-options --shuffle-seed "$seed") python=(--randomly-seed "$seed")
        # A separate folder, since pytest loads every plugin that it can import.
        .venv/bin/python -m pip install --quiet --no-deps --upgrade --target target/randomly pytest-randomly
        export PYTHONPATH=$PWD/target/randomly
        ;;
    *) echo "shake: the mode must be one, idle, busy or random; got $mode" >&2; exit 2 ;;
esac
status=0 start=$SECONDS
for each in "${programs[@]}"; do
    read -r program folder <<<"$each"
    (cd "$folder" && "${prefix[@]}" "$program" --quiet "${rust[@]}") || { status=1 && echo "shake: $program failed"; }
done
echo "shake: Rust, $mode: $((SECONDS - start)) s"
unset RUSTC_BOOTSTRAP
start=$SECONDS
(cd client-py && "${prefix[@]}" ../.venv/bin/python -m pytest -q "${python[@]}" "$@") || status=1
echo "shake: Python, $mode: $((SECONDS - start)) s"
exit $status
