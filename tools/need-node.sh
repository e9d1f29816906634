#!/usr/bin/env bash
# Checks for Node 18.15 or newer with npm, and installs it if missing. Only the tests across languages need it.
set -euo pipefail
here=$(dirname "$0")
command -v node >/dev/null && command -v npm >/dev/null || "$here/apt.sh" nodejs npm
node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 18 || (major === 18 && minor >= 15) ? 0 : 1)' || {
    echo "make: Node must be 18.15 or newer; got $(node --version)" >&2
    exit 1
}
