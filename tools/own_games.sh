#!/usr/bin/env bash
# Builds the games of examples/ into a folder: own_games.sh FOLDER. The folder has the programs and the Python extensions.
set -euo pipefail
cd "$(dirname "$0")/../examples"
built=$PWD/../target/release folder=$1 library=so
[ "$(uname)" != Darwin ] || library=dylib
mkdir -p "$folder"
# The programs first: with the feature `python` they would need Python's library.
cargo build --release --locked --workspace --bins --quiet
for game in kuhn liars_dice; do
    cp "$built/$game" "$folder/"
done
cargo build --release --locked --workspace --lib --features kuhn/python,liars_dice/python --quiet
for game in kuhn liars_dice; do
    cp "$built/lib$game.$library" "$folder/${game}_core.abi3.so"
done
