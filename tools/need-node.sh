#!/usr/bin/env bash
# Makes sure of Node 18 or newer with npm, which only the cross-language tests need.
set -euo pipefail
here=$(dirname "$0")
command -v node >/dev/null && command -v npm >/dev/null || "$here/apt.sh" nodejs npm
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' || {
    echo "make: Node 18 or newer is needed, this is $(node --version)" >&2
    exit 1
}
