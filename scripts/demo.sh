#!/usr/bin/env bash
# The demonstration imports the package database of the machine with the C program, then with the Python program into the
# same store. The second import must not find changes. Then both programs print reports, and the tool reads the store
# without a model. The programs read their model from examples/packages/Packages.xcdatamodeld. Usage: demo.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
status=/var/lib/dpkg/status
[ -r "$status" ] || { echo "the demonstration needs $status, the package database of a Debian system" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CORESTONE_LIBRARY=$build/lib/libcorestone.so PYTHONPATH=$PWD/bindings/python
store=$work/packages.sqlite

compile() {
    "${CC:-cc}" -std=c99 -O2 -Wall -Wextra -pedantic -Werror -I"$build/include" "examples/packages/$1.c" \
        examples/packages/packages_model.c -o "$work/$1" -L"$build/lib" -Wl,-rpath,"$build/lib" -lcorestone
}
compile importer
compile report

"$work/importer" "$store" "$status"
"$build/venv/bin/python" examples/packages/importer.py "$store" "$status"
"$build/venv/bin/python" examples/packages/report.py "$store"
"$work/report" "$store" >"$work/report.txt" || { cat "$work/report.txt" >&2; exit 1; }
echo
echo "The C program printed the same report of the same store: $(wc -l <"$work/report.txt") lines."
tool() {
    echo
    local word line="$ corestone"
    for word; do case $word in *\ *) line+=" \"$word\"" ;; *) line+=" ${word#"$work"/}" ;; esac done
    echo "$line"
    "$build/bin/corestone" "$@" | sed "s|$work/||g"
}
tool show "$store" --entity Package
tool fetch "$store" Package "essential == YES" --sort -installedSize --limit 5 \
    --columns name,version,installedSize,dependents
tool check "$store" --apple
echo
echo "The same store in the sqlite3 shell:"
sqlite3 -readonly -header -column "$store" \
    "SELECT ZNAME, ZVERSION, ZINSTALLEDSIZE FROM ZPACKAGE ORDER BY ZINSTALLEDSIZE DESC LIMIT 3"
[ "$(sqlite3 -readonly "$store" 'PRAGMA integrity_check')" = ok ]
