#!/usr/bin/env bash
# Builds the wheel and the source archive for publication in target/wheels:
# wheels.sh ENVIRONMENT [TARGET]
# ENVIRONMENT contains maturin with zig. TARGET is a target triple of Rust; default: this platform. On Linux, zig links
# against an old C library, so that the wheel loads on old systems too.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/$1/bin:$PATH" CARGO_TARGET_DIR="$PWD/target"
target=${2:-$(rustc -vV | sed -n 's/^host: //p')}
options=(--locked --target "$target" --out "$PWD/target/wheels")
case "$target" in
    *-linux-gnu) options+=(--zig --compatibility manylinux_2_17) ;;
    *-linux-musl) options+=(--zig --compatibility musllinux_1_2) ;;
    *-apple-darwin) ;;
    *) echo "wheels: $target is not supported: private servers need Unix sockets" >&2; exit 1 ;;
esac
python3 tools/licences.py boardwire-python "$target" client-py/LICENSE-THIRD-PARTY.txt
cd client-py
maturin sdist --out "$CARGO_TARGET_DIR/wheels"
maturin build "${options[@]}"
