# Everything a new user or CI needs; each target does its own set-up.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
# Targets share folders that npm and pip fill, and cargo uses all processors by itself.
.NOTPARALLEL:

VENV := .venv
BENCH_VENV := .venv-bench
TRAIN_VENV := .venv-train
RLLIB_VENV := .venv-rllib
DOCS_VENV := .venv-docs
WHEELS_VENV := .venv-wheels
PYTHON := $(VENV)/bin/python
BINARY := target/release/boardwire
# Words that `make lint` refuses: readers did not understand the sentences that they stand in.
OLD_WORDS := whoever|anew|befalls?|lest|in earnest|that which|comes? to be|gone on
# What `make test` runs. Suites that need PyTorch or another large package are in `make ci` alone.
SUITES := build test-rust test-python test-agents test-node test-pages soak abuse-quick

.PHONY: demo test ci binary test-rust test-python test-fast test-agents test-node test-pages test-train test-rllib train opponents build docs lint fmt proto aio release-proto golden pictures wheels test-wheels crates mutants bench soak kills abuse abuse-quick serve clean check-tools

## demo: builds, installs, starts the server and plays matches of every game between Python agents
demo: build
	$(PYTHON) client-py/examples/demo.py

## build: leaves target/release/boardwire, and .venv with the client and its test extras
build: binary $(VENV)/.installed

# Rust links with the C compiler, which some crates need besides.
check-tools:
	@command -v cargo >/dev/null || { echo "make: cargo is missing: install Rust 1.94 or newer from https://rustup.rs" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "make: python3 is missing: install Python 3.10 or newer" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "make: Python 3.10 or newer is needed, this is $$(python3 --version)" >&2; exit 1; }
	@command -v cc >/dev/null || tools/apt.sh gcc libc6-dev

# Cargo knows what has changed. Everything is built in one call: a crate is compiled once for each set of features.
binary: | check-tools
	cargo build --release --locked --workspace

$(VENV)/bin/python: | check-tools
	@tools/environment.sh $(VENV)

# The folder of the package is newer when it has a new file.
$(VENV)/.installed: client-py/pyproject.toml client-py/src/boardwire Cargo.toml tools/install.sh | binary $(VENV)/bin/python
	tools/install.sh $(VENV) test
	@touch $@

## test: all suites but those of large packages, each also after one that failed, and a table of them
test:
	@python3 tools/suites.py $(SUITES)

## ci: what a change must pass in 90 minutes; the last line names the suites for which there was no time
ci:
	@python3 tools/suites.py --budget 5400 lint $(SUITES) docs test-train=1200/20 test-rllib=900/20 test-wheels=1200

test-rust: | check-tools
	cargo test --release --locked --workspace --no-fail-fast --quiet

test-python: test-fast
	cd client-py && ../$(PYTHON) -m pytest -q -rfEs --numprocesses auto --dist loadfile -m slow

## test-fast: the Python tests that start no server, in a minute
test-fast: build
	cd client-py && BOARDWIRE_BINARY=none ../$(PYTHON) -m pytest -q -rfE --numprocesses auto --dist loadfile -m 'not slow'

## test-agents: builds the example agents, has each keep the protocol, and lets them play at one table; AGENTS="cpp go" for some
test-agents: build
	tools/agents.sh "$(abspath $(BINARY))" "$(abspath $(PYTHON))" $(AGENTS)

test-node: build
	tools/need-node.sh
	cd tests/node && npm ci --silent --no-audit --no-fund && BOARDWIRE_BINARY="$(abspath $(BINARY))" npm test --silent

## test-pages: the pages of matches, recorded and live, in a headless Chromium
test-pages: build
	tools/need-node.sh
	test -x "$${BOARDWIRE_CHROMIUM:-/usr/bin/chromium}" || tools/apt.sh chromium
	cd tests/node && npm ci --silent --no-audit --no-fund && BOARDWIRE_BINARY="$(abspath $(BINARY))" npm run --silent pages

# PyTorch alone takes 5 GB: what needs heavy packages has an environment of its own.
$(TRAIN_VENV)/.installed: client-py/pyproject.toml $(VENV)/.installed | check-tools
	@tools/environment.sh $(TRAIN_VENV)
	tools/install.sh $(TRAIN_VENV) test,train,notebook,data,open_spiel,frameworks
	@touch $@

## test-train: tests of networks, recordings, other frameworks, their examples and the notebook, with PyTorch in an environment of its own (6 GB)
test-train: $(TRAIN_VENV)/.installed
	cd client-py && ../$(TRAIN_VENV)/bin/python -m pytest -q tests/test_torch.py tests/test_record.py tests/test_open_spiel.py tests/test_sb3.py tests/test_torchrl.py tests/test_notebook.py
	cd client-py && ../$(TRAIN_VENV)/bin/python -m pytest -q ../tests/python/test_pages.py -k 'frameworks or data or client-py'
	cd client-py && ../$(TRAIN_VENV)/bin/python -m pytest -q tests/test_examples.py -k 'train or record or clone or open_spiel or ppo'

# RLlib 2.60 wants gymnasium==1.2.2, the tests gymnasium>=1.4: it has an environment of its own, over the other one.
$(RLLIB_VENV)/.installed: $(TRAIN_VENV)/.installed
	@tools/environment.sh $(RLLIB_VENV) $(TRAIN_VENV)
	$(RLLIB_VENV)/bin/python -m pip install --quiet 'boardwire[rllib]'
	@touch $@

## test-rllib: tests of RLlib, its page and its example, on clusters of Ray that lose servers and nodes, in an environment over that of test-train
test-rllib: $(RLLIB_VENV)/.installed
	cd client-py && BOARDWIRE_BINARY="$(abspath $(BINARY))" ../$(RLLIB_VENV)/bin/python -m pytest -q tests/test_rllib.py tests/test_examples.py -k rllib
	cd client-py && BOARDWIRE_BINARY="$(abspath $(BINARY))" ../$(RLLIB_VENV)/bin/python -m pytest -q ../tests/python/test_pages.py -k rllib

# In Faraway self-play seems to take away some of what playouts have taught: docs/training.md.
TRAIN_faraway = --warm-up 1

## opponents: trains a network for each game, and rates it beside bots; GAME=faraway for one, ARGS="--minutes 5"
opponents: $(patsubst %,opponents/%/ladder.png,$(or $(GAME),faraway rauha golden_compass))

opponents/%/ladder.png: opponents/%/policy.onnx | binary
	$(BINARY) arena $* --field random,greedy,mc:10,mc:40,policy:$*:argmax --at 2 --matches 2000 --seed 1 \
		--policy $*=opponents/$*/policy.onnx --replays opponents/$*/replays --json > opponents/$*/ladder.json
	$(TRAIN_VENV)/bin/python tools/ladder.py opponents/$*/ladder.json $@

.PRECIOUS: opponents/%/policy.onnx
opponents/%/policy.onnx: | $(TRAIN_VENV)/.installed
	$(TRAIN_VENV)/bin/python client-py/examples/train_ppo.py $* --out opponents/$* $(TRAIN_$*) $(ARGS)

## train: trains an agent in 10 minutes; GAME=faraway, ARGS="--minutes 30 --seats 3" and all else that the example takes
train: $(TRAIN_VENV)/.installed
	$(TRAIN_VENV)/bin/python client-py/examples/train_ppo.py $(or $(GAME),faraway) $(TRAIN_$(or $(GAME),faraway)) $(ARGS)

# It has what `build` leaves too: the reference is made from the package.
$(DOCS_VENV)/.installed: client-py/pyproject.toml $(VENV)/.installed
	@tools/environment.sh $(DOCS_VENV) $(VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet 'boardwire[docs]'
	@touch $@

## docs: makes the site of the documentation, target/site/index.html; a warning or a link that leads nowhere is an error
docs: $(DOCS_VENV)/.installed
	$(DOCS_VENV)/bin/python tools/docs/pages.py target/docs
	rm -rf target/site
	$(DOCS_VENV)/bin/python -m sphinx -q -W --keep-going -c tools/docs -d target/doctrees target/docs target/site

$(WHEELS_VENV)/.installed: | check-tools
	@tools/environment.sh $(WHEELS_VENV)
	$(WHEELS_VENV)/bin/python -m pip install --quiet 'maturin[zig]>=1.16,<2' 'twine>=6'
	@touch $@

## wheels: wheels and sources as they are published, in target/wheels; TARGET=aarch64-unknown-linux-gnu for another platform
wheels: $(WHEELS_VENV)/.installed
	rm -rf target/wheels
	tools/wheels.sh $(WHEELS_VENV) $(TARGET)
	$(WHEELS_VENV)/bin/python -m twine check --strict target/wheels/*

## test-wheels: installs them where there is no Rust, with the oldest and the newest versions of all that they need, and plays
test-wheels: wheels
	python3 tools/try_wheels.py target/wheels

## crates: packs the crates as they are published, and builds each from its package
crates: | check-tools
	cargo package --workspace --exclude boardwire-python --exclude boardwire-agent --exclude boardwire-features --locked

## pictures: draws the pictures of the docs, from matches of bots
pictures: binary
	python3 tools/pictures.py $(BINARY) docs

## lint: formats, lints, types, the protocol, and the one-way dependencies
lint: build
	# Fails where a place has another version.
	$(VENV)/bin/bump-my-version bump --dry-run patch
	@! git grep -nwiIE '$(OLD_WORDS)' -- . ':!CHANGELOG.md' ':!*LICENSE*' ':!Makefile'
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --all-features --locked --quiet -- -D warnings
	# As they are published: without what tests ask for.
	cargo check --release --locked --quiet -p boardwire
	cargo check --release --locked --quiet -p boardwire-python
	cargo test --release --locked --workspace --quiet --test integration -- dependencies:: clauses::
	$(PYTHON) -m ruff check client-py tests/python tests/abuse bench tools
	$(PYTHON) -m ruff format --check client-py tests/python tests/abuse bench tools
	$(PYTHON) -m mypy --config-file client-py/pyproject.toml client-py/src client-py/tests client-py/examples tests/python tests/abuse tools/docs tools/*.py
	cd proto && ../$(VENV)/bin/buf lint && ../$(VENV)/bin/buf format -d --exit-code
	cd proto && ../$(VENV)/bin/buf breaking --against released.binpb

fmt: build
	cargo fmt --all
	$(PYTHON) -m ruff format client-py tests/python tests/abuse bench tools
	$(PYTHON) -m ruff check --fix client-py tests/python tests/abuse bench tools
	cd proto && ../$(VENV)/bin/buf format -w

## proto: generates the committed code of all languages
proto: | check-tools
	BOARDWIRE_BLESS=1 cargo test --release --locked --workspace --quiet --test bootstrap
	python3 tests/python/generate.py

## aio: makes boardwire.aio from the modules that block
aio: $(VENV)/.installed
	$(PYTHON) client-py/tools/aio.py

## release-proto: takes the protocol as it stands for the one that later changes must not break; at a release only
release-proto: build
	cd proto && ../$(VENV)/bin/buf build --exclude-source-info --output released.binpb

## golden: writes the golden files: playthroughs, vectors, the client's list of games, what else is pinned; GAME=faraway for one game
golden: | check-tools
	BOARDWIRE_BLESS=1 cargo test --release --locked --workspace --quiet --test integration -- golden:: shown:: decisions:: choices::
	BOARDWIRE_BLESS=1 cargo test --release --locked --workspace --quiet --lib vectors::
	$(MAKE) --no-print-directory binary
	python3 client-py/list_games.py $(BINARY)

## mutants: changes the rules of one game place by place and lists the changes that no test notices; GAME=faraway, ARGS="--shard 0/4" for some
mutants: | check-tools
	tools/mutants.sh $(GAME) $(ARGS)

# The peers have an environment of their own; one that cannot be installed is left out, and its rows say so.
$(BENCH_VENV)/.installed: bench/install.py client-py/pyproject.toml tools/install.sh | check-tools
	@tools/environment.sh $(BENCH_VENV)
	$(BENCH_VENV)/bin/python bench/install.py
	tools/install.sh $(BENCH_VENV) gym,pettingzoo dist
	@touch $@

## bench: measures us and our peers; prints a table, writes bench/results.json, docs/benchmarks.md and the README's table
bench: $(BENCH_VENV)/.installed
	# As they are published, by themselves: with their own features alone.
	cargo build --profile dist --locked -p boardwire
	cargo build --profile dist --locked -p boardwire-python
	PYTHONPATH="$(abspath tests/python)" $(BENCH_VENV)/bin/python bench/run

## soak: ten million decisions, after which server and client must hold no more memory; DECISIONS=n for another number
soak: build
	$(PYTHON) tests/abuse/soak.py $(BINARY) $(DECISIONS)

## kills: kills a server 100 times in the midst of some 200 matches that its journal keeps, and compares with undisturbed ones
kills: build
	cd tests/python && BOARDWIRE_KILLS=100 BOARDWIRE_KILL_SEEDS=67 ../../$(PYTHON) -m pytest -q test_journal.py -k killed

## abuse: what no caller should do, at full size, to a real server beside an innocent client; ATTACKS="a b" for some
abuse: build
	@command -v haproxy >/dev/null || { echo "make: haproxy is missing, which is attacked too: apt-get install haproxy" >&2; exit 1; }
	PYTHONPATH="$(abspath tests/python)" $(PYTHON) tests/abuse/run.py --full $(BINARY) $(ATTACKS)

## abuse-quick: the same, small enough for every change
abuse-quick: build
	PYTHONPATH="$(abspath tests/python)" $(PYTHON) tests/abuse/run.py $(BINARY) $(ATTACKS)

serve: binary
	$(BINARY) serve $(ARGS)

clean:
	cargo clean
	rm -rf $(VENV) .venv-* tests/node/node_modules
