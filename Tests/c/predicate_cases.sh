#!/bin/sh
# The sample cases of the predicate language through C. Prints passed and total by kind, and "N passed, M failed".
#
# usage: OUT=<folder of predicate_cases> predicate_cases.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
cases=${CORESTONE_FIXTURES:-$here/../../../shared/fixtures}/../predicate-cases.json
if [ ! -f "$cases" ]; then
    if [ "${CORESTONE_REQUIRE_FIXTURES:-0}" = 1 ]; then
        echo "predicate_cases: FAILED: $cases is missing"
        echo "0 passed, 1 failed"
        exit 1
    fi
    echo "predicate_cases: skipped, the sample cases are missing"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
${PYTHON:-python3} "$here/predicate_cases.py" "$cases" | "$OUT/predicate_cases"
