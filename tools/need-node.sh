#!/usr/bin/env bash
# Makes sure of Node 18.15 or newer with npm, which only the cross-language tests need.
set -euo pipefail
here=$(dirname "$0")
command -v node >/dev/null && command -v npm >/dev/null || "$here/apt.sh" nodejs npm
node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 18 || (major === 18 && minor >= 15) ? 0 : 1)' || {
    echo "make: Node 18.15 or newer is needed, this is $(node --version)" >&2
    exit 1
}
