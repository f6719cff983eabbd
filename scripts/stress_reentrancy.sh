#!/usr/bin/env bash
# Tests random calls within callbacks, first of the release library, then of a library with AddressSanitizer.
# Usage: stress_reentrancy.sh BUILD SEEDS SEEDS-WITH-ADDRESS-SANITIZER
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/sanitized.sh
status=0
make -C Tests/c LIB="$1/lib" INCLUDE="$1/include" OUT="$1/c-tests" "$1/c-tests/reentrancy"
"$1/venv/bin/python" scripts/reentrancy.py "$1/c-tests/reentrancy" --seeds "$2" || status=1
sanitized_library address "$1"
# The program finds leaks by counting handles, as LeakSanitizer would report caches of the Swift runtime.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
make -C Tests/c LIB="$lib" INCLUDE="$PWD/include" OUT="$1/address/c-tests" SAN=address CC="$cc" \
    "$1/address/c-tests/reentrancy"
"$1/venv/bin/python" scripts/reentrancy.py "$1/address/c-tests/reentrancy" --seeds "$3" || status=1
exit $status
