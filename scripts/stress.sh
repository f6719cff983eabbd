#!/usr/bin/env bash
# Many threads against the release library, from C and from Python, and long campaigns of random predicates and of random
# steps over a graph of objects. Usage: stress.sh BUILD GRAPH-STEPS
set -euo pipefail
cd "$(dirname "$0")/.."
make -C Tests/C LIB="$1/lib" INCLUDE="$1/include" OUT="$1/c-tests" stress
"$1/venv/bin/python" -m pytest -p no:cacheprovider bindings/python/tests -k "thread or stress"
# Predicates in SQL, in memory and in both, another sequence every time; the seed is printed.
CORESTONE_SEED="${CORESTONE_SEED:-$RANDOM}" CORESTONE_PREDICATES="${CORESTONE_PREDICATES:-200000}" \
    "${SWIFT:-swift}" test --filter PredicateDifferentialTests
# Rows by SQL, in memory, and by hand-written SQL.
CORESTONE_SEED="${CORESTONE_SEED:-$RANDOM}" CORESTONE_ROWS="${CORESTONE_ROWS:-5000}" \
    "$1/venv/bin/python" -m pytest -s -p no:cacheprovider bindings/python/tests/test_rows_against_sql.py
CORESTONE_SEED="${CORESTONE_SEED:-$RANDOM}" CORESTONE_ROWS="${CORESTONE_ROWS:-20000}" \
    "${SWIFT:-swift}" test --filter RowsDifferentialTests
# Edits, saves, conflicts, undo and redo against a reference model.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" "${CORESTONE_SEED:-$RANDOM}" "${CORESTONE_STEPS:-10000000}" "$folder"
# Relationships without inverse, in four types of stores.
"$2" "${CORESTONE_SEED:-$RANDOM}" "${CORESTONE_ONE_SIDED_STEPS:-1000000}" "$folder" one-sided
