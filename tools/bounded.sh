#!/usr/bin/env bash
# Runs a program that may take 4 GB of memory and no more: a mutant that allocates for ever fails instead of the machine.
ulimit -v 4000000
exec "$@"
