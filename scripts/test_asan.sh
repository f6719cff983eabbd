#!/usr/bin/env bash
# The C tests, misuse suite included, against a library with AddressSanitizer. Usage: test_asan.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/sanitized.sh
sanitized_library address "$1"
# Leaks are looked for with the release library (test_leaks.sh): here the Swift runtime's own caches would be reported.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
make -C Tests/C LIB="$lib" INCLUDE="$PWD/include" OUT="$1/address/c-tests" SAN=address CC="$cc" run
