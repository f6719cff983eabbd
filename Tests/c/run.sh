#!/bin/sh
# Runs test programs one after the other, each with a time limit, and adds up their closing lines. A program that crashes,
# hangs or prints no closing line is a failure.
#
# usage: run.sh PROGRAM...
set -u
# Freed memory is overwritten, so that a use after free fails at once, also with a release library.
export MALLOC_PERTURB_="${MALLOC_PERTURB_:-165}"
export ASAN_OPTIONS="max_free_fill_size=65536:free_fill_byte=90:${ASAN_OPTIONS:-}"
passed=0
failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT
for program in "$@"; do
    timeout "${CORESTONE_TEST_TIMEOUT:-900}" "$program" >"$output" 2>&1
    status=$?
    closing=$(tail -n 1 "$output")
    counts=$(printf '%s\n' "$closing" | sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p')
    name=$(basename "$program")
    if [ -n "$counts" ]; then
        passed=$((passed + ${counts% *}))
        failed=$((failed + ${counts#* }))
        sed '$d' "$output"
        echo "$name: $closing"
        if [ "$status" -ne 0 ] && [ "${counts#* }" -eq 0 ]; then
            failed=$((failed + 1))
            echo "$name: FAILED after its tests, exit status $status"
        fi
    else
        failed=$((failed + 1))
        cat "$output"
        echo "$name: FAILED, exit status $status without a closing line"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
