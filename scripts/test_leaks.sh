#!/usr/bin/env bash
# Runs the C tests with LeakSanitizer, with the release library and its symbols. Usage: test_leaks.sh BUILD LIBRARY
set -euo pipefail
cd "$(dirname "$0")/.."
lib=$1/leaks/lib
mkdir -p "$lib"
install -C -m 755 "$2" "$lib/libcorestone.so.1"
ln -sfn libcorestone.so.1 "$lib/libcorestone.so"
export LSAN_OPTIONS=exitcode=23
# The tests that are scripts are omitted: they run programs without LeakSanitizer, such as the tool, Python and sqlite3.
make -C Tests/c LIB="$lib" INCLUDE="$PWD/include" OUT="$1/leaks/c-tests" SAN=leak SCRIPTS= run
