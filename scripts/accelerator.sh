#!/usr/bin/env bash
# Builds the accelerator of the Python package, an extension module for CPython's stable ABI, if Python's headers exist.
# Usage: accelerator.sh PYTHON INCLUDE OUTPUT   (environment: CC, CFLAGS)
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 include=$2 output=$3

headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
if ! [ -e "$headers/Python.h" ]; then
    echo "make accelerator: not built, because $headers does not have Python.h (Debian: python3-dev); the package works without it"
    rm -f "$output"
    exit 0
fi
sources=(bindings/python/accelerator/*.c)
is_current=yes
for file in "${sources[@]}" bindings/python/accelerator/*.h "$include/corestone.h" "$include"/corestone/{object,types,value}.h; do
    if ! [ "$output" -nt "$file" ]; then is_current=no; fi
done
if [ "$is_current" = yes ]; then exit 0; fi
temporary=$output.$$
# shellcheck disable=SC2086 # CFLAGS is a list
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Werror -fvisibility=hidden -fPIC -shared -ffile-prefix-map="$PWD"=/corestone \
    ${CFLAGS:-} -I"$include" -I"$headers" "${sources[@]}" -o "$temporary" -Wl,--build-id=none -lpthread -lm
strip --strip-unneeded "$temporary"
mv "$temporary" "$output"
