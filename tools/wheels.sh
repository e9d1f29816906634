#!/usr/bin/env bash
# Builds the wheel as it is published, and the sources that they can be built from, into target/wheels:
# wheels.sh ENVIRONMENT [TARGET]
# ENVIRONMENT has maturin with zig, TARGET is Rust's name of a platform, by default this one. On Linux zig links against
# an old C library, so that wheels load on every system that is not older.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/$1/bin:$PATH" CARGO_TARGET_DIR="$PWD/target"
target=${2:-$(rustc -vV | sed -n 's/^host: //p')}
options=(--locked --target "$target" --out "$PWD/target/wheels")
case "$target" in
    *-linux-gnu) options+=(--zig --compatibility manylinux_2_17) ;;
    *-linux-musl) options+=(--zig --compatibility musllinux_1_2) ;;
    *-apple-darwin) ;;
    *) echo "wheels: private servers listen on Unix sockets, which $target has not" >&2; exit 1 ;;
esac
python3 tools/licences.py boardwire-python "$target" client-py/LICENSE-THIRD-PARTY.txt
cd client-py
maturin sdist --out "$CARGO_TARGET_DIR/wheels"
maturin build "${options[@]}"
