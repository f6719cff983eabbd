#!/bin/sh
# Builds the package example in strict C99, imports a small package database, checks the result with the plain sqlite3
# shell, and runs the report. The report must fail on a store without answers. Prints "N passed, M failed".
#
# usage: LIB=<folder> INCLUDE=<folder> examples.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0

expect() { # what, expected, actual
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'examples: FAILED %s\n    expected: %s\n    is:       %s\n' "$1" "$2" "$3"
    fi
}
build() { # program, sources
    program=$1
    shift
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c99 -O1 -g -Wall -Wextra -pedantic -Werror ${SANITIZE:-} -I"$INCLUDE" "$@" -o "$folder/$program" \
        -L"$LIB" -Wl,-rpath,"$LIB" -lcorestone
    expect "$program builds" 0 $?
}
query() { expect "$1" "$2" "$(sqlite3 -batch -noheader -separator '|' "$folder/store.sqlite" "$3" 2>&1)"; }

build importer "$examples/packages/importer.c" "$examples/packages/packages_model.c"
build report "$examples/packages/report.c" "$examples/packages/packages_model.c"
build ten_lines "$examples/c/ten_lines.c"
build open_store "$examples/c/open_store.c"
build csv_store "$examples/c/csv_store.c"

expect "ten lines" "Grace 85" "$(cd "$folder" && ./ten_lines 2>&1)"

csv() { (cd "$folder" && ./csv_store "$@" 2>&1); }
expect "a new CSV store has the first object" "Ada, 36" "$(csv people.csv Ada 36)"
expect "a CSV store is reopened" 'Ada, 36
Grace "Amazing", Hopper, 85' "$(csv people.csv 'Grace "Amazing", Hopper' 85)"
expect "the file of a CSV store is plain CSV" '"Ada",36
"Grace ""Amazing"", Hopper",85' "$(sed -n 's/^"[0-9A-F-]*",1,//p' "$folder/people.csv" | sort)"
expect "references are equal in two reads" "$(csv people.csv)" "$(csv people.csv)"
echo "name,age" >"$folder/other.csv"
csv other.csv >/dev/null
expect "a CSV file of another format is refused" 1 $?
sed -i '$s/,85$//' "$folder/people.csv"
expect "a missing field is reported" 1 "$(csv people.csv | grep -c 'line 4 does not have 4 fields' | sed 's/^[1-9].*/1/')"

# Programs that save into one file at the same time: one of the first ones creates the file, the others use it.
for round in 1 2 3 4 5; do
    rm -f "$folder"/all.csv "$folder"/saved.*
    for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
        (csv all.csv "n$number" "$number" >"$folder/saved.$number" || mv "$folder/saved.$number" "$folder/saved.failed.$number") &
    done
    wait
    expect "twelve programs save, round $round" "" "$(cat "$folder"/saved.failed.* 2>/dev/null)"
    expect "the file contains every saved object, round $round" \
        "$(for number in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "n$number, $number"; done)" "$(csv all.csv)"
done
expect "no temporary file is left" "all.csv" "$(cd "$folder" && ls -d all.csv*)"
chmod 640 "$folder/all.csv"
csv all.csv last 99 >/dev/null
expect "a save keeps the file's permissions" "-rw-r-----" "$(ls -l "$folder/all.csv" | cut -c 1-10)"
printf '"x",1,"a\0b",1\n' >>"$folder/all.csv"
expect "a file with a NUL is refused" 1 "$(csv all.csv more 1 | grep -c 'it contains a NUL' | sed 's/^[1-9].*/1/')"

# Two stores of the file in one program, whose contexts have no merge policy.
cat >"$folder/two.c" <<'END'
#define main csv_main
#include "csv_store.c"
#undef main
#define TRY(call) CST_TRY_OR(call, exit(1))
static cst_context *context_on(cst_model *model, const char *path, cst_error **error) {
    cst_coordinator *coordinator = NULL;
    cst_context *context = NULL;
    if (cst_coordinator_new(model, &coordinator, error) != CST_OK) return NULL;
    if (cst_coordinator_add_store(coordinator, CST_TEXT("CSV"), cst_string_from(path), NULL, NULL, error) != CST_OK) return NULL;
    if (cst_context_new(coordinator, CST_QUEUE_CALLER, &context, error) != CST_OK) return NULL;
    return context;
}
static void add(cst_context *context, const cst_entity *person, cst_string name) {
    cst_error *error = NULL;
    cst_key key;
    const cst_value value = cst_value_string(name);
    TRY(cst_entity_key(person, CST_TEXT("name"), &key, &error));
    TRY(cst_context_insert_many(context, person, 1, 1, &key, &value, NULL, &error));
    cst_status status = cst_context_save(context, &error);
    printf("%d %d\n", (int)status == CST_OK, error != NULL && strstr(cst_error_message(error).data, "NUL") != NULL);
    cst_release(error);
}
int main(int count, char **arguments) {
    cst_error *error = NULL;
    cst_model *model;
    cst_entity *person;
    cst_store_callbacks callbacks = CST_STORE_CALLBACKS_INIT;
    callbacks.kind = CST_STORE_ATOMIC;
    callbacks.open = open_store;
    callbacks.close = close_store;
    callbacks.load = load;
    callbacks.save = save;
    (void)count;
    TRY(cst_store_type_register(CST_TEXT("CSV"), &callbacks, &error));
    TRY(cst_model_new(&model, &error));
    TRY(cst_model_add_entity(model, CST_TEXT("Person"), &person, &error));
    TRY(cst_entity_add_attribute(person, CST_TEXT("name"), CST_ATTRIBUTE_STRING, 0, NULL, &error));
    TRY(cst_entity_add_attribute(person, CST_TEXT("age"), CST_ATTRIBUTE_INTEGER_64, CST_PROPERTY_OPTIONAL, NULL, &error));
    cst_context *one = context_on(model, arguments[1], &error), *two = context_on(model, arguments[1], &error);
    add(one, person, CST_TEXT("one"));
    add(two, person, CST_TEXT("two")); /* the file is another one by now */
    TRY(cst_context_save(two, &error));
    add(two, person, CST_TEXT("a\0b"));
    return 0;
}
END
build two -I"$examples/c" "$folder/two.c"
expect "a save into a changed file conflicts, and a NUL is refused" "1 0
0 0
0 1" "$(cd "$folder" && ./two two.csv 2>&1)"
expect "the next save contains all objects" '"one",
"two",' "$(sed -n 's/^"[0-9A-F-]*",1,//p' "$folder/two.csv" | sort)"
expect "temporary files of refused saves are removed" "two.csv" "$(cd "$folder" && ls -d two.csv*)"

package() { # name, section, size, maintainer, other fields
    printf 'Package: %s\nStatus: install ok installed\nSection: %s\nInstalled-Size: %s\nMaintainer: %s\n' "$1" "$2" "$3" "$4"
    printf 'Architecture: amd64\nVersion: 1.0-%s\nDescription: the package %s\n with a longer text\n .\n of lines\n' "$3" "$1"
    shift 4
    for line in "$@"; do printf '%s\n' "$line"; done
    printf '\n'
}
{
    package libc6 libs 9000 'GNU Libc <libc@example.org>' 'Homepage: https://example.org/libc' 'Provides: libc-dev, c-runtime (= 2)'
    package bash shells 7000 'Zoë Schmidt <zoe@example.org>' 'Essential: yes' 'Pre-Depends: libc6 (>= 2.36)' 'Depends: base'
    package base admin 300 'Zoë Schmidt <zoe@example.org>' 'Depends: nothing | bash:any, missing'
    package tool utils 2048 '"A, Team" <team@example.org>' 'Depends: c-runtime | libc6, bash (>= 1) | base, libc6'
    printf 'Package: gone\nStatus: deinstall ok config-files\nMaintainer: Unknown\nVersion: 1\nArchitecture: all\n'
} >"$folder/status"

"$folder/importer" "$folder/store.sqlite" "$folder/status" >"$folder/printed" 2>&1
expect "the import succeeds" 0 $?
expect "the import prints its counts" "4 packages, 3 maintainers, 4 sections, 5 dependencies" \
    "$(sed -n 's/.*: \(.*\) in .* s$/\1/p' "$folder/printed")"
query "packages" "base|1.0-300|300|0|the package base
bash|1.0-7000|7000|1|the package bash
libc6|1.0-9000|9000|0|the package libc6
tool|1.0-2048|2048|0|the package tool" \
    "SELECT ZNAME, ZVERSION, ZINSTALLEDSIZE, ZESSENTIAL, ZSUMMARY FROM ZPACKAGE ORDER BY ZNAME"
query "maintainers" "A, Team|team@example.org|1
GNU Libc|libc@example.org|1
Zoë Schmidt|zoe@example.org|2" "SELECT m.ZNAME, m.ZEMAIL, count(*) FROM ZMAINTAINER m JOIN ZPACKAGE p ON p.ZMAINTAINER = m.Z_PK
    GROUP BY m.Z_PK ORDER BY m.ZNAME"
query "homepages" "https://example.org/libc" "SELECT ZHOMEPAGE FROM ZPACKAGE WHERE ZHOMEPAGE IS NOT NULL"
query "integrity" "ok" "PRAGMA integrity_check"
expect "the model in Xcode's format has equal hashes" "3 equal of 3" "$(python3 "$here/xcdatamodel_hashes.py" \
    "$examples/packages/Packages.xcdatamodeld/Packages.xcdatamodel/contents" "$folder/store.sqlite" 2>&1)"

"$folder/importer" "$folder/store.sqlite" "$folder/status" >"$folder/printed" 2>&1
expect "a second import is refused" 1 $?
"$folder/importer" "$folder/other.sqlite" "$folder/nothing" >"$folder/printed" 2>&1
expect "a missing database is refused" 1 $?

before=$(cksum <"$folder/store.sqlite")
"$folder/report" "$folder/store.sqlite" >"$folder/printed" 2>&1
expect "the report succeeds" 0 $?
expect "the report names the most depended-on package" 1 \
    "$(grep -c 'most depended-on package is libc6 1.0-9000: 2 packages need it' "$folder/printed")"
"$folder/open_store" "$folder/store.sqlite" >"$folder/printed" 2>&1
expect "a page about the store is written" 0 $?
expect "the page counts objects" "11 objects of 3 entities" "$(sed -n 2p "$folder/printed")"
expect "the page shows objects" 1 "$(grep -c 'amd64 .* no ' "$folder/printed" | sed 's/^[1-9].*/1/')"
"$folder/open_store" "$folder/missing.sqlite" >"$folder/printed" 2>&1
expect "a page about a missing store fails" 1 $?
expect "the page names the missing store" 1 "$(grep -c "missing.sqlite" "$folder/printed")"
expect "the page and the report do not change the store" "$before" "$(cksum <"$folder/store.sqlite")"
[ "$failed" -eq 0 ] || cat "$folder/printed"

printf 'Package: alone\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n' >"$folder/status"
"$folder/importer" "$folder/alone.sqlite" "$folder/status" >/dev/null 2>&1
"$folder/report" "$folder/alone.sqlite" >"$folder/printed" 2>&1
expect "a report without answers fails" 1 $?
"$folder/report" "$folder/missing.sqlite" >"$folder/printed" 2>&1
expect "a report of a missing store fails" 1 $?
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
