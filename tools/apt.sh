#!/usr/bin/env bash
# Installs Debian packages for a test or the set-up. If it cannot, it prints the packages and the reason.
set -euo pipefail
if ! command -v apt-get >/dev/null; then
    echo "make: please install: $* (make can install packages only on Debian-based systems)" >&2
    exit 1
fi
run=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "make: please install as root: apt-get install $*" >&2; exit 1; }
    run=(sudo)
fi
echo "installing $*" >&2
"${run[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -qq -y --no-install-recommends "$@" >/dev/null
