#!/usr/bin/env bash
# Tests the release library with many threads, from C and from Python, and with many random predicates and random changes of an
# object graph. Usage: stress.sh BUILD GRAPH-STEPS
set -euo pipefail
cd "$(dirname "$0")/.."
make -C Tests/c LIB="$1/lib" INCLUDE="$1/include" OUT="$1/c-tests" stress
"$1/venv/bin/python" -m pytest -p no:cacheprovider bindings/python/tests -k "thread or stress"
# Compares predicates in SQL, in memory and in both, with a new seed in every run, which is printed.
CORESTONE_SEED="${CORESTONE_SEED:-$RANDOM}" CORESTONE_PREDICATES="${CORESTONE_PREDICATES:-200000}" \
    "${SWIFT:-swift}" test --filter PredicateDifferentialTests
# Compares rows fetched with SQL, in memory, and with SQL written by hand.
CORESTONE_SEED="${CORESTONE_SEED:-$RANDOM}" CORESTONE_ROWS="${CORESTONE_ROWS:-5000}" \
    "$1/venv/bin/python" -m pytest -s -p no:cacheprovider bindings/python/tests/test_rows_against_sql.py
CORESTONE_SEED="${CORESTONE_SEED:-$RANDOM}" CORESTONE_ROWS="${CORESTONE_ROWS:-20000}" \
    "${SWIFT:-swift}" test --filter RowsDifferentialTests
# Compares changes, saves, conflicts, undo and redo with a reference model.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" "${CORESTONE_SEED:-$RANDOM}" "${CORESTONE_STEPS:-10000000}" "$folder"
# The same for relationships without an inverse, in four types of stores.
"$2" "${CORESTONE_SEED:-$RANDOM}" "${CORESTONE_ONE_SIDED_STEPS:-1000000}" "$folder" one-sided
