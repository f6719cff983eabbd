#!/usr/bin/env bash
# Runs in a clean system: installs the packages or the wheel of /mnt/check/dist, or unpacks the archive, and runs the programs
# of a user.
# Usage: clean_system.sh deb|wheel|archive
set -euo pipefail
kind=$1
check=/mnt/check
project=$check/project
cd /root
fail() {
    echo "clean_system: $*" >&2
    exit 1
}
show() {
    echo
    echo "\$ $*"
    "$@"
}
# Usage: expect WORDS COMMAND…   runs a command, which must succeed and print WORDS
expect() {
    local words=$1
    shift
    echo
    echo "\$ $*"
    "$@" >/tmp/printed 2>&1 || { cat /tmp/printed; fail "$1 failed"; }
    cat /tmp/printed
    grep -qF -- "$words" /tmp/printed || fail "'$words' is not in the output of $1"
}
# Usage: refused WORDS COMMAND…   runs a command, which must fail and print WORDS
refused() {
    local words=$1
    shift
    echo
    echo "\$ $*"
    if "$@" >/tmp/printed 2>&1; then fail "$1 did not fail"; fi
    tail -1 /tmp/printed
    grep -qF -- "$words" /tmp/printed || fail "'$words' is not in the output of $1"
}
apt_install() { apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { tail -20 /tmp/apt.log; fail "apt-get install $*"; }; }

. /etc/os-release
echo "$PRETTY_NAME"
! command -v swift >/dev/null || fail "this system has Swift"
apt-get update -qq
case $kind in
deb)
    echo "\$ apt install ./*.deb"
    (cd $check/dist && apt_install ./*.deb)
    dpkg-query --show '*corestone*'
    ldd /usr/lib/*/libcorestone.so.1
    python=python3
    apt_install gcc libc6-dev make pkg-config
    flags() { pkg-config --cflags --libs corestone; }
    ;;
wheel)
    apt_install python3-venv
    show python3 -m venv /opt/venv
    export PATH=/opt/venv/bin:$PATH
    show pip install --quiet --disable-pip-version-check --no-index $check/dist/*-py3-none-*.whl
    show python3 -c "import corestone; print(corestone.library_version())"
    show pip install --quiet --disable-pip-version-check --no-index --force-reinstall --find-links $check/dist corestone
    python=/opt/venv/bin/python3
    apt_install gcc libc6-dev make
    flags() { $python -m corestone --cflags --libs; }
    ;;
archive)
    apt_install python3 libsqlite3-0
    show tar -C /opt -xf $check/dist/corestone-*-linux-*.tar.gz
    cd /opt/corestone-*
    show sha256sum --check --quiet SHA256SUMS
    # As described in docs/INSTALL.md.
    export PATH=$PWD/bin:$PATH PKG_CONFIG_PATH=$PWD/lib/pkgconfig PYTHONPATH=$PWD/lib/python3/site-packages
    cd /root
    python=python3
    apt_install gcc libc6-dev make pkg-config
    flags() { echo "$(pkg-config --cflags --libs corestone) -Wl,-rpath,$(pkg-config --variable=libdir corestone)"; }
    ;;
*) fail "usage: clean_system.sh deb|wheel|archive" ;;
esac
[ $kind = archive ] || [ -z "${PYTHONPATH:-}" ] || fail "PYTHONPATH must not be set"
[ -z "${CORESTONE_LIBRARY:-}" ] || fail "CORESTONE_LIBRARY must not be set"

mkdir ten && cd ten
expect "Grace 85" $python $project/examples/python/ten_lines.py
read -ra words <<<"$(flags)"
rm -f people.store*
show cc -std=c99 -Wall -Wextra -Werror $project/examples/c/ten_lines.c -o ten_lines "${words[@]}"
expect "Grace 85" ./ten_lines
cd ..
expect "corestone 0." corestone --version
expect "Person" corestone show ten/people.store
if [ -d $check/shared/fixtures ]; then
    fixture=$(find $check/shared/fixtures -name '*.sqlite' -printf '%s %p\n' | sort -n | head -1 | cut -d' ' -f2)
    show corestone show "$fixture"
fi
expect "Notes:" corestone init Notes
cd Notes
expect "1 items in /root/.local/share/notes/Notes.sqlite" $python notes.py
expect "2 items in /root/.local/share/notes/Notes.sqlite" $python notes.py
cd ..
expect "Lists:" corestone init Lists --language c
expect "1 items in /root/.local/share/Lists/Lists.sqlite" make -C Lists run

case $kind in
deb)
    apt_install man-db bash-completion
    [ -e /usr/share/man/man1/corestone.1.gz ] || dpkg -L corestone | grep -q man1/corestone.1.gz || fail "the manual page is missing"
    # shellcheck disable=SC2016
    expect "codegen" bash -c '. /usr/share/bash-completion/completions/corestone
        COMP_WORDS=(corestone model co) COMP_CWORD=2; _corestone; echo "corestone model co: ${COMPREPLY[*]}"'
    ;;
wheel)
    # If the environment is not active, the tool prints the path of the interpreter that has the package.
    PATH=/usr/bin:/bin expect "run it with /opt/venv/bin/python" /opt/venv/bin/corestone init Direct
    pip install --quiet --disable-pip-version-check --no-index --find-links $check/pytest pytest
    echo
    echo "\$ python3 -m pytest bindings/python/tests   with the installed wheel"
    (cd $project && $python -m pytest -rs -p no:cacheprovider bindings/python/tests) >/tmp/tests 2>&1 \
        || { tail -60 /tmp/tests; fail "tests failed"; }
    grep '^SKIPPED' /tmp/tests | cut -c1-200 || true
    tail -1 /tmp/tests
    # Tests without SQLite. Its library is moved back afterwards, as other programs of the system need it.
    library=$(ls /usr/lib/*/libsqlite3.so.0)
    mv "$library" /tmp/libsqlite3.away
    refused "libsqlite3-0" $python -c "import corestone"
    refused "libsqlite3-0" corestone --version
    mv /tmp/libsqlite3.away "$library"
    expect "corestone 0." corestone --version
    ;;
esac
echo "clean_system: $kind works on $PRETTY_NAME"
