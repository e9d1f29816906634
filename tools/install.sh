#!/usr/bin/env bash
# Makes the package with some extras importable in an environment: install.sh ENVIRONMENT EXTRAS [PROFILE]
#
# The package and the extension stay where they are, in client-py/src and target/PROFILE: the environment has links
# to them, the command, and the metadata that a wheel would have. Cargo builds all of it in one call and compiles each dependency once.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$(realpath "$1") built=$PWD/target/${3:-release}
export PATH="$environment/bin:$PATH"
site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
python -m pip install --quiet --upgrade pip 'maturin>=1.16,<2'
rm -rf "$site"/boardwire{,_local,_command}{,-*.dist-info} "$site"/boardwire*.pth "$environment/bin/boardwire"
(cd client-py && maturin pep517 write-dist-info --metadata-directory "$site" --interpreter python >/dev/null 2>&1)
mkdir "$site/boardwire"
for part in client-py/src/boardwire/*; do
    [ "$(basename "$part")" = __pycache__ ] || ln -s "$PWD/$part" "$site/boardwire/"
done
ln -s "$PWD/client-py/src/boardwire_command" "$site/"
printf '#!%s\nfrom boardwire_command import main\n\nmain()\n' "$environment/bin/python" >"$environment/bin/boardwire"
chmod +x "$environment/bin/boardwire"
extension=$built/lib_core.so
[ "$(uname)" != Darwin ] || extension=$built/lib_core.dylib
ln -s "$extension" "$site/boardwire/_core.abi3.so"
# What is left to install is what it needs.
python -m pip install --quiet "boardwire[$2]"
