#!/bin/sh
# The header gate: corestone.h, and each header of corestone/ alone, compiles in every supported language, twice in
# one file, and every struct has the layout of corestone-api.json (headers/layout.c). Prints "N passed, M failed".
#
# usage: headers.sh INCLUDE OUT
set -u
include=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
passed=0
failed=0

check() {
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "headers: FAILED $name"
    fi
}

# A file for each header that includes only this header, twice.
alone=$out/headers-alone
rm -rf "$alone"
mkdir -p "$alone"
headers=0
for header in "$include"/corestone/*.h; do
    name=$(basename "$header" .h)
    printf '#include <corestone/%s.h>\n#include <corestone/%s.h>\nint %s_alone;\n' "$name" "$name" "$name" >"$alone/$name.c"
    cp "$alone/$name.c" "$alone/$name.cc"
    headers=$((headers + 1))
done
# Headers that are not in the umbrella header are only for examples.
left_out() {
    for header in "$include"/corestone/*.h; do
        name=$(basename "$header")
        grep -q "^#include \"corestone/$name\"" "$include/corestone.h" || echo "$name"
    done
}
check "$headers headers, all but example.h in the umbrella" [ "$(left_out)" = example.h ]

strict="-Wall -Wextra -Wconversion -Wpedantic -Werror -fsyntax-only -I$include"
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { echo "headers: skipped $compiler: not installed"; continue; }
    for standard in c99 c11 c17; do
        # shellcheck disable=SC2086
        check "$compiler $standard" $compiler -std=$standard $strict "$here/headers/alone.c"
        # shellcheck disable=SC2086
        check "$compiler $standard, each header" $compiler -std=$standard $strict "$alone"/*.c
    done
done
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { echo "headers: skipped $compiler: not installed"; continue; }
    # shellcheck disable=SC2086
    check "$compiler c++17" $compiler -std=c++17 $strict "$here/headers/alone.cc"
    # shellcheck disable=SC2086
    check "$compiler c++17, each header" $compiler -std=c++17 $strict "$alone"/*.cc
done

layout() {
    ${CC:-cc} -std=c11 -I"$include" "$here/headers/layout.c" -o "$out/layout" || return 1
    "$out/layout"
}
check layout layout
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
