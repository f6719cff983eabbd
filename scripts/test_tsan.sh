#!/usr/bin/env bash
# Runs the C stress program and the Swift tests with ThreadSanitizer. Usage: test_tsan.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/sanitized.sh
export TSAN_OPTIONS=second_deadlock_stack=1
# Predicates are compared on one thread, so a tenth of them is sufficient here.
export CORESTONE_PREDICATES="${CORESTONE_PREDICATES:-2000}"
sanitized_library thread "$1"
make -C Tests/c LIB="$lib" INCLUDE="$PWD/include" OUT="$1/thread/c-tests" SAN=thread CC="$cc" stress
"${SWIFT:-swift}" test --scratch-path "$1/swift/thread-tests" --sanitize=thread
