#!/usr/bin/env bash
# Makes the client with some extras importable in an environment: install.sh ENVIRONMENT EXTRAS [PROFILE]
#
# The package, the extension and the program stay where they are, in client-py/src and target/PROFILE: the environment has links
# to them, and the metadata that a wheel would have. Cargo builds all of them in one call and compiles each dependency once.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$(realpath "$1") built=$PWD/target/${3:-release}
export PATH="$environment/bin:$PATH"
site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
python -m pip install --quiet --upgrade pip 'maturin>=1.16,<2'
rm -rf "$site"/boardwire{,_local}{,-*.dist-info} "$site"/boardwire*.pth
for folder in client-py server/local; do
    (cd "$folder" && maturin pep517 write-dist-info --metadata-directory "$site" --interpreter python >/dev/null 2>&1)
done
echo "$PWD/client-py/src" >"$site/boardwire.pth"
ln -sf "$built/boardwire" "$environment/bin/boardwire"
extension=$built/libboardwire_local.so
[ "$(uname)" != Darwin ] || extension=$built/libboardwire_local.dylib
mkdir "$site/boardwire_local"
touch "$site/boardwire_local/py.typed"
ln -s "$extension" "$site/boardwire_local/__init__.abi3.so"
ln -s "$PWD/server/local/boardwire_local.pyi" "$site/boardwire_local/__init__.pyi"
# Both are there: what is left to install is what they need.
python -m pip install --quiet boardwire-local "boardwire[$2]"
