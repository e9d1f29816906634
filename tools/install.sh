#!/usr/bin/env bash
# Installs the package with extras in an environment for development: install.sh ENVIRONMENT EXTRAS [PROFILE]
#
# It links the environment to the package in client-py/src and the extension in target/PROFILE. It adds the command and
# the metadata of a wheel. So one call of Cargo builds everything and compiles each dependency once.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=$(realpath "$1") built=$PWD/target/${3:-release}
export PATH="$environment/bin:$PATH"
site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
python -m pip install --quiet --upgrade pip 'maturin>=1.16,<2'
rm -rf "$site"/boardwire{,_command}{,-*.dist-info} "$environment/bin/boardwire"
(cd client-py && maturin pep517 write-dist-info --metadata-directory "$site" --interpreter python >/dev/null 2>&1)
mkdir "$site/boardwire"
for part in client-py/src/boardwire/*; do
    [ "$(basename "$part")" = __pycache__ ] || ln -s "$PWD/$part" "$site/boardwire/"
done
ln -s "$PWD/client-py/src/boardwire_command" "$site/"
printf '#!%s\nfrom boardwire_command import main\n\nmain()\n' "$environment/bin/python" >"$environment/bin/boardwire"
chmod +x "$environment/bin/boardwire"
extension=$built/libboardwire_python.so
[ "$(uname)" != Darwin ] || extension=$built/libboardwire_python.dylib
ln -s "$extension" "$site/boardwire/_core.abi3.so"
# Installs the requirements of the package and its extras.
python -m pip install --quiet "boardwire[$2]"
