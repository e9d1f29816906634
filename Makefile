# All tasks for users, developers and CI. Each target does its own set-up.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
# Targets share folders of npm and pip, and cargo runs in parallel by itself.
.NOTPARALLEL:

VENV := .venv
BENCH_VENV := .venv-bench
TRAIN_VENV := .venv-train
RLLIB_VENV := .venv-rllib
DOCS_VENV := .venv-docs
WHEELS_VENV := .venv-wheels
PYTHON := $(VENV)/bin/python
BINARY := target/release/boardwire
# Words that `make lint` refuses, since readers did not understand the sentences with them.
OLD_WORDS := whoever|anew|befalls?|lest|in earnest|that which|comes? to be|gone on
# The suites of `make test`. Only `make ci` runs suites with large packages such as PyTorch.
SUITES := build test-rust test-python test-agents test-node test-pages soak abuse-quick

.PHONY: demo test ci binary test-rust test-python test-own-games test-fast test-agents test-node test-pages test-train test-rllib train opponents ladder opponents-wheel build docs lint fmt proto aio release-proto golden pictures wheels test-wheels crates mutants bench soak kills abuse abuse-quick serve clean check-tools

## demo: builds, starts a server, and plays matches of every game between Python agents
demo: build
	$(PYTHON) client-py/examples/demo.py

## build: builds target/release/boardwire, and .venv with the client and its test extras
build: binary $(VENV)/.installed

# Rust links with the C compiler, and some crates contain C code.
check-tools:
	@command -v cargo >/dev/null || { echo "make: cargo is missing: install Rust 1.94 or newer from https://rustup.rs" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "make: python3 is missing: install Python 3.10 or newer" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "make: Python must be 3.10 or newer; got $$(python3 --version)" >&2; exit 1; }
	@command -v cc >/dev/null || tools/apt.sh gcc libc6-dev

# One call of Cargo builds everything, so that it compiles a crate once for each set of features.
binary: | check-tools
	cargo build --release --locked --workspace --lib --bins --examples

$(VENV)/bin/python: | check-tools
	@tools/environment.sh $(VENV)

# A new file in the package changes the time of its folder.
$(VENV)/.installed: client-py/pyproject.toml client-py/src/boardwire Cargo.toml tools/install.sh | binary $(VENV)/bin/python
	tools/install.sh $(VENV) test
	@touch $@

## test: runs all suites without large packages, also after a failure, and prints a table
test:
	@python3 tools/suites.py $(SUITES)

## ci: runs all required checks of a change within 90 minutes; the last line names the suites left out
ci:
	@python3 tools/suites.py --budget 5100 lint $(SUITES) docs test-train=1200/12 test-own-games=900 test-rllib=900/2 test-wheels=1200

test-rust: | check-tools
	cargo test --release --locked --workspace --no-fail-fast --quiet

PYTEST := ../$(PYTHON) -m pytest -q -rfEs --numprocesses auto --dist loadfile
FAST := BOARDWIRE_BINARY=none $(PYTEST) -m 'not slow'

test-python: build
	status=0; cd client-py; $(FAST) || status=$$?; $(PYTEST) -m slow && exit $$status

## test-fast: runs the Python tests without a server, in a minute
test-fast: build
	cd client-py; $(FAST)

## test-agents: builds the example agents, checks their protocol, and lets them play one match; AGENTS="cpp go" for some
test-agents: build
	tools/agents.sh "$(abspath $(BINARY))" "$(abspath $(PYTHON))" $(AGENTS)

test-node: build
	tools/need-node.sh
	cd tests/node && npm ci --silent --no-audit --no-fund && BOARDWIRE_BINARY="$(abspath $(BINARY))" npm test --silent

## test-pages: tests the replay and watch pages in a headless Chromium
test-pages: build
	tools/need-node.sh
	test -x "$${BOARDWIRE_CHROMIUM:-/usr/bin/chromium}" || tools/apt.sh chromium
	cd tests/node && npm ci --silent --no-audit --no-fund && BOARDWIRE_BINARY="$(abspath $(BINARY))" npm run --silent pages

# PyTorch takes 5 GB, so tests with large packages have their own environment.
$(TRAIN_VENV)/.installed: client-py/pyproject.toml $(VENV)/.installed | check-tools
	@tools/environment.sh $(TRAIN_VENV)
	tools/install.sh $(TRAIN_VENV) test,train,notebook,data,solver,frameworks,openenv,trl
	@touch $@

## test-train: tests networks, recordings, frameworks, examples and the notebook with PyTorch, in a separate environment (6 GB)
test-train: $(TRAIN_VENV)/.installed
	cd client-py && ../$(TRAIN_VENV)/bin/python -m pytest -q tests/test_torch.py tests/test_record.py tests/test_open_spiel.py tests/test_sb3.py tests/test_torchrl.py tests/test_notebook.py tests/test_openenv.py tests/test_trl.py
	cd client-py && ../$(TRAIN_VENV)/bin/python -m pytest -q -c pyproject.toml ../tests/python/test_pages.py -k 'frameworks or data or client-py or language_models'
	cd client-py && ../$(TRAIN_VENV)/bin/python -m pytest -q tests/test_examples.py -k 'train or record or clone or open_spiel or ppo'

# RLlib 2.60 needs gymnasium==1.2.2, the other tests gymnasium>=1.4. So RLlib has an environment based on .venv-train.
$(RLLIB_VENV)/.installed: $(TRAIN_VENV)/.installed
	@tools/environment.sh $(RLLIB_VENV) $(TRAIN_VENV)
	$(RLLIB_VENV)/bin/python -m pip install --quiet 'boardwire[rllib]'
	@touch $@

OWN_GAMES := $(abspath target/own-games)

## test-own-games: tests the games of examples/, which are crates of their own: their laws, programs and extensions
test-own-games: $(TRAIN_VENV)/.installed
	tools/need-node.sh
	cd tests/node && npm ci --silent --no-audit --no-fund && npm run --silent build
	cd examples && cargo test --release --locked --workspace --no-fail-fast --quiet
	tools/own_games.sh "$(OWN_GAMES)"
	cd client-py && BOARDWIRE_OWN_GAMES="$(OWN_GAMES)" PYTHONPATH="$(OWN_GAMES)" ../$(TRAIN_VENV)/bin/python -m pytest -q -c pyproject.toml ../tests/python/test_own_games.py

## test-rllib: tests RLlib, its page and example, on Ray clusters that lose servers and nodes; extends the environment of test-train
test-rllib: $(RLLIB_VENV)/.installed
	cd client-py && BOARDWIRE_BINARY="$(abspath $(BINARY))" ../$(RLLIB_VENV)/bin/python -m pytest -q tests/test_rllib.py tests/test_examples.py -k rllib
	cd client-py && BOARDWIRE_BINARY="$(abspath $(BINARY))" ../$(RLLIB_VENV)/bin/python -m pytest -q -c pyproject.toml ../tests/python/test_pages.py -k rllib

## opponents: trains the missing networks of the package boardwire-opponents; GAME=faraway SEATS=2 for some, ARGS="--seed 2"
opponents: $(TRAIN_VENV)/.installed | binary
	$(TRAIN_VENV)/bin/python tools/opponents.py $(BINARY) $(if $(GAME),--game $(GAME)) $(if $(SEATS),--seats $(SEATS)) $(ARGS)

## ladder: measures the strength of all bots at a table, and prints it for docs/strength.md; GAME=faraway SEATS=2, ARGS="--matches 1000"
ladder: binary
	python3 tools/ladder.py $(BINARY) $(or $(GAME),faraway) $(or $(SEATS),2) $(ARGS)

## train: trains an agent in about 10 minutes; GAME=faraway, ARGS="--seats 3 --seed 2" or other options of train_ppo.py
train: $(TRAIN_VENV)/.installed
	$(TRAIN_VENV)/bin/python client-py/examples/train_ppo.py $(or $(GAME),faraway) $(ARGS)

# Based on .venv, since Sphinx imports the package for the reference.
$(DOCS_VENV)/.installed: client-py/pyproject.toml $(VENV)/.installed
	@tools/environment.sh $(DOCS_VENV) $(VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet 'boardwire[docs]'
	@touch $@

## docs: builds the documentation site, target/site/index.html; a warning or dead link is an error
docs: $(DOCS_VENV)/.installed
	$(DOCS_VENV)/bin/python tools/docs/pages.py target/docs
	rm -rf target/site
	$(DOCS_VENV)/bin/python -m sphinx -q -W --keep-going -c tools/docs -d target/doctrees target/docs target/site

$(WHEELS_VENV)/.installed: | check-tools
	@tools/environment.sh $(WHEELS_VENV)
	$(WHEELS_VENV)/bin/python -m pip install --quiet 'maturin[zig]>=1.16,<2' 'twine>=6'
	@touch $@

## wheels: builds the published wheel and source archive in target/wheels; TARGET=aarch64-unknown-linux-gnu for another platform
wheels: $(WHEELS_VENV)/.installed
	rm -rf target/wheels
	tools/wheels.sh $(WHEELS_VENV) $(TARGET)
	$(WHEELS_VENV)/bin/python -m twine check --strict target/wheels/*

## opponents-wheel: builds the published wheel of boardwire-opponents in target/wheels
opponents-wheel: $(WHEELS_VENV)/.installed
	rm -f target/wheels/boardwire_opponents-*
	$(WHEELS_VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir target/wheels ./opponents
	$(WHEELS_VENV)/bin/python -m twine check --strict target/wheels/boardwire_opponents-*

## test-wheels: installs the wheels without Rust, with the oldest and the newest dependencies, and runs tests and examples
test-wheels: wheels opponents-wheel
	python3 tools/try_wheels.py target/wheels

## crates: packages the published crates, and builds each from its package
crates: | check-tools
	cargo package --workspace --exclude boardwire-agent --exclude boardwire-conformance --exclude boardwire-features --locked

## pictures: draws the pictures of the docs from matches of bots
pictures: binary
	python3 tools/pictures.py $(BINARY) docs

## lint: checks formats, lints, types, protocol compatibility, and the direction of dependencies
lint: build
	# Fails if a file names another version.
	$(VENV)/bin/bump-my-version bump --dry-run patch
	@status=0; git grep -nwiIE '$(OLD_WORDS)' -- . ':!*LICENSE*' ':!Makefile' || status=$$?; test $$status = 1
	cargo fmt --all --check
	cd examples && cargo fmt --check --package kuhn --package liars_dice && cargo clippy --release --workspace --all-targets --locked --quiet -- -D warnings -W clippy::pedantic
	cargo clippy --release --workspace --all-targets --all-features --locked --quiet -- -D warnings
	# Checks the published features, without those that only tests enable.
	cargo check --release --locked --quiet -p boardwire
	cargo check --release --locked --quiet -p boardwire-python
	cargo test --release --locked --workspace --quiet --test integration -- dependencies:: clauses::
	$(PYTHON) -m ruff check client-py tests/python tests/abuse bench tools opponents
	$(PYTHON) -m ruff format --check client-py tests/python tests/abuse bench tools opponents
	$(PYTHON) -m mypy --config-file client-py/pyproject.toml client-py/src client-py/tests client-py/examples tests/python tests/abuse tools/docs tools/*.py opponents/src
	cd proto && ../$(VENV)/bin/buf lint && ../$(VENV)/bin/buf format -d --exit-code
	cd proto && ../$(VENV)/bin/buf breaking --against released.binpb

fmt: build
	cargo fmt --all
	$(PYTHON) -m ruff format client-py tests/python tests/abuse bench tools opponents
	$(PYTHON) -m ruff check --fix client-py tests/python tests/abuse bench tools opponents
	cd proto && ../$(VENV)/bin/buf format -w

## proto: generates the committed protocol code of all languages
proto: | check-tools
	BOARDWIRE_BLESS=1 cargo test --release --locked --workspace --quiet --test bootstrap
	python3 tests/python/generate.py

## aio: generates boardwire.aio from the blocking client
aio: $(VENV)/.installed
	$(PYTHON) client-py/tools/aio.py

## release-proto: saves the protocol that later changes must stay compatible with; only for a release
release-proto: build
	cd proto && ../$(VENV)/bin/buf build --exclude-source-info --output released.binpb

## golden: writes the golden files: playthroughs, vectors, the client's list of games, the pages of docs/games; GAME=faraway for one game
golden: | check-tools
	BOARDWIRE_BLESS=1 cargo test --release --locked --workspace --quiet --test integration -- golden:: digests:: decisions:: choices::
	BOARDWIRE_BLESS=1 cargo test --release --locked --workspace --quiet --lib vectors::
	$(MAKE) --no-print-directory build
	python3 client-py/list_games.py $(BINARY)
	$(PYTHON) tools/docs/games.py

## mutants: mutation tests of the rules of one game; lists the changes that no test detects; GAME=faraway, ARGS="--shard 0/4" for some
mutants: | check-tools
	tools/mutants.sh $(GAME) $(ARGS)

# The peers have their own environment. If a peer cannot be installed, its rows say so.
$(BENCH_VENV)/.installed: bench/install.py client-py/pyproject.toml tools/install.sh | check-tools
	@tools/environment.sh $(BENCH_VENV)
	$(BENCH_VENV)/bin/python bench/install.py
	tools/install.sh $(BENCH_VENV) gym,pettingzoo dist
	@touch $@

## bench: measures Boardwire and its peers; prints a table, writes bench/results.json, docs/benchmarks.md and the README's table
bench: $(BENCH_VENV)/.installed
	# Separate calls, so that each has only its own features, as published.
	cargo build --profile dist --locked -p boardwire
	cargo build --profile dist --locked -p boardwire-python
	PYTHONPATH="$(abspath tests/python)" $(BENCH_VENV)/bin/python bench/run

## soak: plays ten million decisions, then checks that server and client use no more memory; DECISIONS=n for another number
soak: build
	$(PYTHON) tests/abuse/soak.py $(BINARY) $(DECISIONS)

## kills: kills a server 100 times during about 200 matches with a journal, and compares them with uninterrupted ones
kills: build
	cd tests/python && BOARDWIRE_KILLS=100 BOARDWIRE_KILL_SEEDS=67 ../../$(PYTHON) -m pytest -q test_journal.py -k killed

## abuse: attacks a real server at full size, beside a normal client; ATTACKS="a b" for some
abuse: build
	@command -v haproxy >/dev/null || { echo "make: haproxy is missing, and the attacks need it: apt-get install haproxy" >&2; exit 1; }
	PYTHONPATH="$(abspath tests/python)" $(PYTHON) tests/abuse/run.py --full $(BINARY) $(ATTACKS)

## abuse-quick: runs the attacks at a small size, for every change
abuse-quick: build
	PYTHONPATH="$(abspath tests/python)" $(PYTHON) tests/abuse/run.py $(BINARY) $(ATTACKS)

serve: binary
	$(BINARY) serve $(ARGS)

clean:
	cargo clean
	rm -rf $(VENV) .venv-* tests/node/node_modules
