#!/usr/bin/env bash
# Runs tests in 4 GB of memory and no more: a mutant that allocates for ever fails instead of the machine. After the first
# failure no more are begun, since one is enough: the test harness knows how, but lets only unstable callers ask.
ulimit -v 4000000
RUSTC_BOOTSTRAP=1 exec "$@" -Zunstable-options --fail-fast
