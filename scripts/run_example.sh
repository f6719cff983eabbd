#!/usr/bin/env bash
# Builds and runs the ten-line example of the README in an empty folder. Usage: run_example.sh c|python|swift BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $1 in
c)
    "${CC:-cc}" -std=c99 -Wall -Wextra -pedantic -Werror -I"$build/include" examples/c/ten_lines.c -o "$work/ten_lines" \
        -L"$build/lib" -Wl,-rpath,"$build/lib" -lcorestone
    run=("$work/ten_lines")
    ;;
python)
    export CORESTONE_LIBRARY=$build/lib/libcorestone.so PYTHONPATH=$root/bindings/python
    run=("$build/venv/bin/python" "$root/examples/python/ten_lines.py")
    ;;
swift)
    swift=${SWIFT:-swift}
    flags=(--package-path examples/swift --scratch-path "$build/swift/example")
    "$swift" build "${flags[@]}"
    run=("$("$swift" build "${flags[@]}" --show-bin-path)/ten-lines")
    ;;
*)
    echo "usage: run_example.sh c|python|swift BUILD" >&2
    exit 2
    ;;
esac

cd "$work"
"${run[@]}" | tee "$work/printed"
[ -s "$work/printed" ] || { echo "the $1 example printed nothing" >&2; exit 1; }
