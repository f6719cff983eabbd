#!/bin/sh
# Writes a store with the library and reads it with the plain sqlite3 shell: schema, numbering, rows, values, order.
# Then independent tools read the model inside it and compute its version hashes, if they are installed.
# Prints "N passed, M failed".
#
# usage: OUT=<folder of write_sample> sqlite_shell.sh
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
store=$folder/sample.sqlite
passed=0
failed=0

expect() { # what, expected, actual
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'sqlite_shell: FAILED %s\n    expected: %s\n    is:       %s\n' "$1" "$2" "$3"
    fi
}
ask() { sqlite3 -batch -noheader -separator '|' "$store" "$1" 2>&1; }
query() { expect "$1" "$2" "$(ask "$3")"; } # what, expected, SQL
schema() { query "$1" "$2" "SELECT sql FROM sqlite_master WHERE name = '$1'"; }

if ! command -v sqlite3 >/dev/null; then
    echo "sqlite_shell: FAILED: the sqlite3 shell is not installed"
    echo "0 passed, 1 failed"
    exit 1
fi
if ! "$OUT/write_sample" "$store" >"$folder/printed" 2>&1; then
    cat "$folder/printed"
    echo "0 passed, 1 failed"
    exit 1
fi

query "integrity" "ok" "PRAGMA integrity_check"

schema Z_PRIMARYKEY "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"
schema Z_METADATA "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"
schema Z_MODELCACHE "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"
schema ZDEPARTMENT "CREATE TABLE ZDEPARTMENT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBUDGET DECIMAL, \
ZNAME VARCHAR )"
schema ZPERSON "CREATE TABLE ZPERSON ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZACTIVE INTEGER, \
ZAGE INTEGER, ZFLOOR INTEGER, ZLEVEL INTEGER, ZNUMBER INTEGER, ZDEPARTMENT INTEGER, ZMANAGER INTEGER, Z3_MANAGER INTEGER, \
ZSPOUSE INTEGER, Z3_SPOUSE INTEGER, ZFACTOR FLOAT, ZHIRED TIMESTAMP, ZRATING FLOAT, ZBONUS FLOAT, ZSALARY DECIMAL, ZNAME VARCHAR, \
ZNOTES VARCHAR, ZSITE VARCHAR, ZBADGE BLOB, ZBLOB BLOB, ZPHOTO BLOB )"
schema ZTASK "CREATE TABLE ZTASK ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZOWNER INTEGER, \
Z3_OWNER INTEGER, ZPROJECT INTEGER, ZWATCHER INTEGER, Z3_WATCHER INTEGER, Z_FOK_OWNER INTEGER, Z_FOK_PROJECT INTEGER, ZTITLE VARCHAR )"
schema Z_3PROJECTS "CREATE TABLE Z_3PROJECTS ( Z_3MEMBERS INTEGER, Z_5PROJECTS INTEGER, \
PRIMARY KEY (Z_3MEMBERS, Z_5PROJECTS) )"
schema Z_3REVIEWS "CREATE TABLE Z_3REVIEWS ( Z_3REVIEWERS INTEGER, Z_5REVIEWS INTEGER, Z_FOK_3REVIEWERS INTEGER, \
PRIMARY KEY (Z_3REVIEWERS, Z_5REVIEWS) )"
schema Z_3FRIENDS "CREATE TABLE Z_3FRIENDS ( Z_3FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_3FRIENDS, REFLEXIVE) )"
schema Z_3REVIEWS_Z_5REVIEWS_INDEX "CREATE INDEX Z_3REVIEWS_Z_5REVIEWS_INDEX ON Z_3REVIEWS (Z_5REVIEWS, Z_3REVIEWERS)"
schema ZPERSON_ZDEPARTMENT_INDEX "CREATE INDEX ZPERSON_ZDEPARTMENT_INDEX ON ZPERSON (ZDEPARTMENT)"
schema ZPERSON_ZMANAGER_INDEX "CREATE INDEX ZPERSON_ZMANAGER_INDEX ON ZPERSON (ZMANAGER)"
schema ZPERSON_Z_ENT_INDEX "CREATE INDEX ZPERSON_Z_ENT_INDEX ON ZPERSON (Z_ENT)"
schema ZTASK_ZPROJECT_INDEX "CREATE INDEX ZTASK_ZPROJECT_INDEX ON ZTASK (ZPROJECT)"
schema ZTASK_ZWATCHER_INDEX "CREATE INDEX ZTASK_ZWATCHER_INDEX ON ZTASK (ZWATCHER)"
schema Z_Person_name "CREATE INDEX Z_Person_name ON ZPERSON (ZNAME COLLATE BINARY ASC)"

query "entities" "1|Department|0|1
2|Person|0|3
3|Employee|2|0
4|Manager|3|0
5|Project|0|2
6|Task|0|3" "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT"
query "rows" "Ada|3
Bob|3" "SELECT ZNAME, Z_ENT FROM ZPERSON ORDER BY ZNAME"
query "lock counters" "1|3" \
    "SELECT (SELECT Z_OPT FROM ZPERSON WHERE ZNAME = 'Ada'), (SELECT Z_OPT FROM ZPERSON WHERE ZNAME = 'Bob')"
query "integers and booleans" "1|100000|-7|9007199254740993|integer" \
    "SELECT ZACTIVE, ZFLOOR, ZLEVEL, ZNUMBER, typeof(ZACTIVE) FROM ZPERSON WHERE ZNAME = 'Ada'"
query "reals" "0.1|0.5|real" "SELECT ZRATING, ZFACTOR, typeof(ZRATING) FROM ZPERSON WHERE ZNAME = 'Ada'"
query "dates" "730900800.25|2024-02-29 12:00:00" \
    "SELECT ZHIRED, datetime(ZHIRED + 978307200, 'unixepoch') FROM ZPERSON WHERE ZNAME = 'Ada'"
query "dates before 2001" "2000-12-31 23:59:59" \
    "SELECT datetime(ZHIRED + 978307200, 'unixepoch') FROM ZPERSON WHERE ZNAME = 'Bob'"
query "decimals" "1|1" "SELECT ZSALARY = 1234.5, typeof(ZSALARY) IN ('real', 'integer') FROM ZPERSON WHERE ZNAME = 'Ada'"
query "text" "Zoë said 'hello'|text|https://example.org/a?b=c|text" \
    "SELECT ZNOTES, typeof(ZNOTES), ZSITE, typeof(ZSITE) FROM ZPERSON WHERE ZNAME = 'Ada'"
query "UUIDs" "000102030405060708090A0B0C0D0EFF|blob" "SELECT hex(ZBADGE), typeof(ZBADGE) FROM ZPERSON WHERE ZNAME = 'Ada'"
query "bytes" "DEAD00BEEF|blob|726177" "SELECT hex(ZPHOTO), typeof(ZPHOTO), hex(ZBLOB) FROM ZPERSON WHERE ZNAME = 'Ada'"
query "nulls" "null|null|null" \
    "SELECT typeof(ZSALARY), typeof(ZNOTES), typeof(ZDEPARTMENT) FROM ZPERSON WHERE ZNAME = 'Bob'"
query "to-one" "Ada|R&D|
Bob||Ada" "SELECT e.ZNAME, d.ZNAME, m.ZNAME FROM ZPERSON e LEFT JOIN ZDEPARTMENT d ON d.Z_PK = e.ZDEPARTMENT
    LEFT JOIN ZPERSON m ON m.Z_PK = e.ZMANAGER ORDER BY e.ZNAME"
query "ordered keys" "first|2048
second|3072
third|4096" "SELECT ZTITLE, Z_FOK_PROJECT FROM ZTASK ORDER BY Z_FOK_PROJECT"
query "join rows, in order" "P|Bob|2048
P|Ada|3072
Q|Ada|2048" "SELECT p.ZTITLE, e.ZNAME, j.Z_FOK_3REVIEWERS FROM Z_3REVIEWS j JOIN ZPERSON e ON e.Z_PK = j.Z_3REVIEWERS
    JOIN ZPROJECT p ON p.Z_PK = j.Z_5REVIEWS ORDER BY p.ZTITLE, j.Z_FOK_3REVIEWERS"
query "friends" "1" "SELECT count(*) > 0 FROM Z_3FRIENDS"
query "no foreign names" "" "SELECT name FROM sqlite_master WHERE name NOT LIKE 'Z%' AND name NOT LIKE 'sqlite_%'"
query "metadata" "1|36|1" "SELECT Z_VERSION, length(Z_UUID), Z_UUID = upper(Z_UUID) FROM Z_METADATA"
query "a property list" "62706C6973743030" "SELECT hex(substr(Z_PLIST, 1, 8)) FROM Z_METADATA"
query "a cached model" "1" "SELECT length(Z_CONTENT) > 100 FROM Z_MODELCACHE"

fixtures=${CORESTONE_FIXTURES:-$here/../../../shared/fixtures}
tools=$fixtures/../tools
if [ -f "$tools/decode_model.py" ] && [ -f "$tools/version_hash.py" ]; then
    decoded=$(python3 "$tools/decode_model.py" "$store" 2>&1)
    expect "decode_model.py reads the cached model" "0" "$?"
    for entity in Department Employee Manager Person Project Task; do
        case $decoded in
        *"$entity"*) expect "decode_model.py finds $entity" yes yes ;;
        *) expect "decode_model.py finds $entity" "$entity" "$decoded" ;;
        esac
    done
    hashes=$(python3 "$tools/version_hash.py" "$store" 2>&1)
    equal=$(printf '%s\n' "$hashes" | grep -c ' equal$')
    echo "sqlite_shell: version hashes: $equal equal of $(printf '%s\n' "$hashes" | grep -c .)"
    expect "version hashes equal" 6 "$equal"
    [ "$equal" -eq 6 ] || printf '%s\n' "$hashes"
elif [ "${CORESTONE_REQUIRE_FIXTURES:-0}" = 1 ]; then
    expect "the tools beside the fixtures" "present" "absent ($tools)"
else
    echo "sqlite_shell: skipped the independent reader: no $tools"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
