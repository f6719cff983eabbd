#!/usr/bin/env bash
# The C tests with LeakSanitizer, against the release library with its symbols. Usage: test_leaks.sh BUILD LIBRARY
set -euo pipefail
cd "$(dirname "$0")/.."
lib=$1/leaks/lib
mkdir -p "$lib"
install -C -m 755 "$2" "$lib/libcorestone.so.1"
ln -sfn libcorestone.so.1 "$lib/libcorestone.so"
export LSAN_OPTIONS=exitcode=23
# The scripts among the tests run programs that are no tests of leaks: the tool, Python, the shell of SQLite.
make -C Tests/C LIB="$lib" INCLUDE="$PWD/include" OUT="$1/leaks/c-tests" SAN=leak SCRIPTS= run
