#!/usr/bin/env bash
# Creates a Python environment, and installs the Debian package for this if necessary: environment.sh ENVIRONMENT [BASE]
# The environment can also import the packages of the environment BASE.
set -euo pipefail
cd "$(dirname "$0")/.."
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
create() { python3 -m venv "$1" 2>/dev/null; }
# An incomplete environment is removed, since it has a Python and would look complete.
create "$1" || { tools/apt.sh python3-venv && create "$1"; } || { rm -rf "$1"; exit 1; }
if [ $# -gt 1 ]; then
    echo "import site; site.addsitedir('$(packages "$2")')" >"$(packages "$1")/base.pth"
fi
