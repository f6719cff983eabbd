#!/usr/bin/env bash
# Builds the accelerator of the Python package, an extension module for CPython's stable ABI, if Python's headers exist.
# Usage: accelerator.sh PYTHON INCLUDE OUTPUT   (environment: CC, CFLAGS, STRIP)
#
# OUTPUT.command records the versions of Python and the compiler, and the command. The module is built again if these or
# a file that it was built from changed.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 include=$2 output=$3

{ read -r headers && read -r version; } < <("$python" -c \
    'import platform, sysconfig; print(sysconfig.get_path("include")); print(platform.python_version())')
if ! [ -e "$headers/Python.h" ]; then
    echo "make accelerator: not built, because $headers does not have Python.h (Debian: python3-dev); the package works without it"
    rm -f "$output" "$output.command"
    exit 0
fi
sources=(bindings/python/accelerator/*.c)
compiler=${CC:-cc}
# shellcheck disable=SC2206 # CC and CFLAGS are lists
command=($compiler -std=c11 -O2 -Wall -Wextra -Werror -fvisibility=hidden -fPIC -shared
    "-ffile-prefix-map=$PWD=/corestone" ${CFLAGS:-} "-I$include" "-I$headers" "${sources[@]}"
    -Wl,--build-id=none -lpthread -lm)
# shellcheck disable=SC2086
built="Python $version
$($compiler --version)
${command[*]}"

is_current=yes
if ! [ -e "$output" ] || [ "$(cat "$output.command" 2>/dev/null)" != "$built" ]; then is_current=no; fi
changed=$(find scripts/accelerator.sh bindings/python/accelerator "$include/corestone.h" "$include/corestone" "$headers" \
    -type f -newer "$output" 2>/dev/null || true)
if [ -n "$changed" ]; then is_current=no; fi
if [ "$is_current" = yes ]; then exit 0; fi

temporary=$output.$$
rm -f "$output.command"
"${command[@]}" -o "$temporary"
"${STRIP:-strip}" --strip-unneeded "$temporary"
mv "$temporary" "$output"
printf '%s\n' "$built" >"$output.command"
