#!/bin/sh
# Random calls from many seeds, to find leaks that only one seed in a thousand causes.
#
# usage: random_seeds.sh [SEEDS [CALLS]], with OUT as for run.sh. A failure prints its seed and the program's output.
set -u
seeds=${1:-300}
calls=${2:-20000}
failed=0
first=$(($(date +%s) * 1000))
output=$(mktemp)
trap 'rm -f "$output"' EXIT
export MALLOC_PERTURB_="${MALLOC_PERTURB_:-165}"
i=0
while [ "$i" -lt "$seeds" ]; do
    seed=$((first + i))
    if ! timeout 600 "$OUT/random_calls" "$calls" "$seed" >"$output" 2>&1; then
        failed=$((failed + 1))
        echo "random_seeds: seed $seed, $calls calls, FAILED"
        tail -n 20 "$output"
    fi
    i=$((i + 1))
done
echo "random_seeds: seeds $first to $((first + seeds - 1)) of $calls calls each, $failed failures"
[ "$failed" -eq 0 ]
