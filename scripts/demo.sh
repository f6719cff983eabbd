#!/usr/bin/env bash
# The demonstration: the machine's own package database, imported from C, then from Python into the same store, which
# finds nothing to change; then the questions that a person asks. Usage: demo.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
status=/var/lib/dpkg/status
[ -r "$status" ] || { echo "the demonstration needs $status, the package database of a Debian system" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CORESTONE_LIBRARY=$build/lib/libcorestone.so PYTHONPATH=$PWD/bindings/python
store=$work/packages.sqlite

"${CC:-cc}" -std=c99 -O2 -Wall -Wextra -pedantic -Werror -I"$build/include" examples/packages/importer.c \
    -o "$work/importer" -L"$build/lib" -Wl,-rpath,"$build/lib" -lcorestone
"$work/importer" "$store" "$status"
"$build/venv/bin/python" examples/packages/importer.py "$store" "$status"
echo
"$build/venv/bin/python" examples/packages/report.py "$store"
echo
echo "The same store in the sqlite3 shell:"
sqlite3 -readonly -header -column "$store" \
    "SELECT ZNAME, ZVERSION, ZINSTALLEDSIZE FROM ZPACKAGE ORDER BY ZINSTALLEDSIZE DESC LIMIT 3; PRAGMA integrity_check"
