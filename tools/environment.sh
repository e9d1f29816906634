#!/usr/bin/env bash
# Makes a Python environment, if need be after the Debian package for it, and lets it import the packages of
# another environment: environment.sh ENVIRONMENT [BASE]
set -euo pipefail
cd "$(dirname "$0")/.."
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
make_it() { python3 -m venv "$1" 2>/dev/null; }
# An unfinished environment has a Python, too, and would be taken for a whole one.
make_it "$1" || { tools/apt.sh python3-venv && make_it "$1"; } || { rm -rf "$1"; exit 1; }
if [ $# -gt 1 ]; then
    echo "import site; site.addsitedir('$(packages "$2")')" >"$(packages "$1")/base.pth"
fi
