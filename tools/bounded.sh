#!/usr/bin/env bash
# Runs tests with at most 4 GB of memory, so that a mutant that allocates without end cannot exhaust the machine. It stops after
# the first failure. This option of the test harness is unstable, and RUSTC_BOOTSTRAP permits it.
ulimit -v 4000000
RUSTC_BOOTSTRAP=1 exec "$@" -Zunstable-options --fail-fast
