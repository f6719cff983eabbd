#!/usr/bin/env bash
# Runs the C tests, including the misuse suite, with AddressSanitizer in the library. Usage: test_asan.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/sanitized.sh
sanitized_library address "$1"
# test_leaks.sh tests for leaks with the release library. Here, LeakSanitizer would report caches of the Swift runtime.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
make -C Tests/c LIB="$lib" INCLUDE="$PWD/include" OUT="$1/address/c-tests" SAN=address CC="$cc" run
