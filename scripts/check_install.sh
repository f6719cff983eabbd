#!/usr/bin/env bash
# Installs into an empty folder. Builds and runs a program with pkg-config and with CMake, imports the Python package, and runs
# the programs that `corestone init` creates.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make install DESTDIR="$work/stage" PREFIX=/opt/corestone LIBDIR=/opt/corestone/lib INCLUDEDIR=/opt/corestone/include \
    BINDIR=/opt/corestone/bin >"$work/install.log" 2>&1 || { cat "$work/install.log" >&2; exit 1; }
prefix=$work/stage/opt/corestone
for file in lib/libcorestone.so lib/libcorestone.so.1 include/corestone.h include/corestone-api.json \
    bin/corestone share/man/man1/corestone.1.gz share/bash-completion/completions/corestone; do
    [ -e "$prefix/$file" ] || { echo "check-install: $file was not installed" >&2; exit 1; }
done
(cd include && find . -name '*.h') | while read -r header; do
    cmp -s "include/$header" "$prefix/include/$header" || { echo "check-install: $header was not installed" >&2; exit 1; }
done

cat >"$work/consumer.c" <<'C'
#include <corestone.h>
#include <stdio.h>
int main(void) {
    int major = -1, minor = -1, patch = -1;
    cst_version(&major, &minor, &patch);
    printf("%d.%d.%d\n", major, minor, patch);
    return major == CST_VERSION_MAJOR && minor == CST_VERSION_MINOR && patch == CST_VERSION_PATCH ? 0 : 1;
}
C

export PKG_CONFIG_SYSROOT_DIR=$work/stage PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs corestone)"
"${CC:-cc}" -Wall -Wextra -Werror "$work/consumer.c" -o "$work/by-pkg-config" "${flags[@]}"
LD_LIBRARY_PATH=$prefix/lib "$work/by-pkg-config" >"$work/version"

mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(Corestone 0.1 REQUIRED)
add_executable(consumer ../consumer.c)
target_link_libraries(consumer PRIVATE Corestone::corestone)
C
cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/cmake.log" 2>&1 \
    && cmake --build "$work/cmake/build" >>"$work/cmake.log" 2>&1 || { cat "$work/cmake.log" >&2; exit 1; }
"$work/cmake/build/consumer" >"$work/version-by-cmake"
cmp "$work/version" "$work/version-by-cmake"
[ "$(cat "$work/version")" = "$(pkg-config --modversion corestone)" ]

# The package and the programs of `corestone init` find the library without an environment variable.
unset CORESTONE_LIBRARY PYTHONPATH
python_folder=$(dirname "$(find "$prefix/lib" -path '*/corestone/__init__.py')" | xargs dirname)
(cd "$work" && PYTHONPATH=$python_folder python3 -c \
    "from corestone._abi import library; assert library.find_library() == '$prefix/lib/libcorestone.so', library.find_library()")
export XDG_DATA_HOME=$work/data
(cd "$work" && "$prefix/bin/corestone" init Notes && "$prefix/bin/corestone" init Lists --language c) >/dev/null
PYTHONPATH=$python_folder python3 "$work/Notes/notes.py" >"$work/notes"
make -C "$work/Lists" run >"$work/lists"
grep -qx "1 items in $work/data/notes/Notes.sqlite" "$work/notes"
grep -qx "1 items in $work/data/Lists/Lists.sqlite" "$work/lists"

echo "check-install: programs built with pkg-config and with CMake, and those of corestone init, run with $(cat "$work/version")"
