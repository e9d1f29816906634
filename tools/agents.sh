#!/usr/bin/env bash
# Builds the example agents, checks that each follows the protocol, and lets the built ones play one match:
# tools/agents.sh SERVER PYTHON [LANGUAGE...]
#
# The script installs missing toolchains from Debian's packages. If it cannot, it skips the language and prints a line. With
# `BOARDWIRE_EVERY_AGENT`, set in CI, a skipped language is an error. An agent that does not build or breaks the protocol
# is always an error.
set -euo pipefail
cd "$(dirname "$0")/.."
server=$1 python=$2
shift 2
out=$PWD/target/agents
protos=(proto/boardwire/v1/*.proto)
details=(google/rpc/{error_details,status}.proto)

# need COMMAND_OR_FILE... -- PACKAGE...: succeeds if all exist, if necessary after the installation of the packages.
need() {
    local items=() item
    while [ "$1" != -- ]; do items+=("$1") && shift; done
    shift
    have_all() { for item in "${items[@]}"; do command -v "$item" >/dev/null || [ -e "$item" ] || return 1; done; }
    have_all || { tools/apt.sh "$@" && have_all; }
}

# launcher LANGUAGE COMMAND...: writes a script that runs the command as the agent of the language.
launcher() {
    mkdir -p "$out/$1"
    printf '#!/bin/sh\nexec%s "$@"\n' "$(printf ' %q' "${@:2}")" >"$out/$1/agent"
    chmod +x "$out/$1/agent"
}

need_python() { true; }
build_python() { launcher python "$python" "$PWD/tests/python/agent.py"; }

need_node() { tools/need-node.sh; }
build_node() {
    (cd tests/node && npm ci --silent --no-audit --no-fund && npm run --silent build)
    launcher node node "$PWD/tests/node/dist/agent.js"
}

need_rust() { need cargo --; }
build_rust() {
    cargo build --release --locked --quiet --workspace
    launcher rust "$PWD/target/release/agent"
}

need_cpp() {
    need cmake g++ make protoc grpc_cpp_plugin /usr/include/grpcpp/grpcpp.h -- \
        cmake g++ make libgrpc++-dev libprotobuf-dev protobuf-compiler-grpc
}
build_cpp() {
    cmake -S tests/cpp -B "$out/cpp" -DCMAKE_BUILD_TYPE=Release >"$out/cpp.log"
    cmake --build "$out/cpp" --parallel "$(nproc)" >>"$out/cpp.log"
}

# Debian installs the libraries as sources below this path. They replace Go modules.
gocode=/usr/share/gocode
need_go() {
    # gRPC also accepts golang/protobuf 1.3, which cannot send the messages that protoc-gen-go generates.
    need go protoc protoc-gen-go protoc-gen-go-grpc "$gocode/src/google.golang.org/"{grpc,protobuf,genproto} \
        "$gocode/src/github.com/golang/protobuf/proto/registry.go" -- \
        golang-go golang-google-{grpc,protobuf,genproto}-dev golang-github-golang-protobuf-1-5-dev protoc-gen-go{,-grpc}
}
build_go() {
    mkdir -p "$out/go/src"
    protoc --proto_path=proto --go_out="$out/go/src" --go-grpc_out="$out/go/src" "${protos[@]}"
    GO111MODULE=off GOPATH="$out/go:$gocode" go build -o "$out/go/agent" ./tests/go
}

jars=$(printf ':/usr/share/java/%s.jar' grpc-{api,context,core,netty,protobuf,protobuf-lite,stub} protobuf guava gson \
    perfmark-{api,impl} geronimo-annotation-1.3-spec \
    netty-{buffer,codec,codec-http,codec-http2,codec-socks,common,handler,handler-proxy,resolver,transport,transport-native-unix-common})
need_java() {
    need javac protoc /usr/bin/grpc_java_plugin ${jars//:/ } -- \
        openjdk-17-jdk-headless protobuf-compiler protobuf-compiler-grpc-java-plugin libgrpc-java libprotobuf-java \
        libnetty-java libguava-java libgoogle-gson-java libperfmark-java libgeronimo-annotation-1.3-spec-java
}
build_java() {
    local newest=$out/java/classes/Agent.class
    if [ ! -e "$newest" ] || [ -n "$(find tests/java proto -newer "$newest")" ]; then
        rm -rf "$out/java" && mkdir -p "$out/java/"{src,classes}
        protoc --proto_path=proto --plugin=protoc-gen-grpc-java=/usr/bin/grpc_java_plugin \
            --java_out="$out/java/src" --grpc-java_out="$out/java/src" "${protos[@]}" "${details[@]}"
        find "$out/java/src" tests/java -name '*.java' -print0 | xargs -0 javac -nowarn -d "$out/java/classes" -cp "${jars#:}"
    fi
    # The agent runs briefly, so it starts sooner with only the fast compiler.
    launcher java java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$out/java/classes$jars" Agent
}

mkdir -p "$out"
failed=() skipped=()
[ $# -gt 0 ] || set -- python node rust cpp go java
for language; do
    if ! "need_$language"; then
        rm -rf "${out:?}/$language"
        echo "skipped: the agent in $language: cannot install its toolchain" >&2
        skipped+=("$language")
        continue
    fi
    "build_$language"
    [ "$language" = python ] && without=() || without=(--without clocks,fair-deals)
    report=$("$server" agent-check "${without[@]}" -- "$out/$language/agent") || failed+=("$language")
    grep -v '^ok ' <<<"$report" | tail -n 40 | sed "s/^/$language: /"
done
[ ${#failed[@]} -eq 0 ] || { echo "these agents break the protocol: ${failed[*]}" >&2 && exit 1; }
[ -z "${BOARDWIRE_EVERY_AGENT:-}" ] || [ ${#skipped[@]} -eq 0 ] || { echo "BOARDWIRE_EVERY_AGENT is set, but these agents were skipped: ${skipped[*]}" >&2 && exit 1; }
[ -x "$out/node/agent" ] || { echo "skipped: the matches between agents, since the Node agent hosts them" >&2 && exit; }
cd tests/node
BOARDWIRE_BINARY=$server BOARDWIRE_PYTHON=$python npm run --silent together
