#!/usr/bin/env bash
# Installs the client with some extras into an environment, and the engine that `connect("local:")` plays with:
# install.sh ENVIRONMENT EXTRAS
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$(realpath "$1")
export PATH="$environment/bin:$PATH" CARGO_TARGET_DIR="$PWD/target"
python -m pip install --quiet --upgrade pip 'maturin>=1.16,<2'
# The client is editable and finds the binary through the wheel, so the binary is built once for both.
python -m pip install --quiet --no-build-isolation ./server/local -e "client-py[$2]"
