#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks; says nothing and costs nothing when all is there.
# Usage: deps.sh VENV   (environment: PYTHON, SWIFT)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
python=${PYTHON:-python3}
swift=${SWIFT:-swift}

# Libraries that Corestone links (their static archives too), then the tools of the tests.
packages=(
    libsqlite3-dev libffi-dev libexpat1-dev libpcre2-dev libutf8proc-dev zlib1g-dev libmd-dev
    abigail-tools binutils clang cmake g++ gcc graphviz make pkg-config python3-venv sqlite3 valgrind
)

fail() {
    echo "make deps: $*" >&2
    exit 1
}

if ! "$swift" --version >/dev/null 2>&1; then
    fail "no Swift toolchain: put 'swift' 6.3 or newer on PATH, or say make SWIFT=/path/to/swift"
fi

installed() {
    dpkg-query --show --showformat '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

if command -v dpkg-query >/dev/null; then
    missing=()
    for package in "${packages[@]}"; do
        installed "$package" || missing+=("$package")
    done
    if [ "${#missing[@]}" -gt 0 ]; then
        command -v apt-get >/dev/null || fail "no apt-get here; install by hand: ${missing[*]}"
        as_root=()
        if [ "$(id -u)" != 0 ]; then
            command -v sudo >/dev/null || fail "neither root nor sudo; have an administrator install: ${missing[*]}"
            as_root=(sudo)
        fi
        echo "make deps: installing ${missing[*]}"
        "${as_root[@]}" apt-get update -qq
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
    fi
else
    # Not Debian: nothing is installed, but what is missing is said.
    absent=()
    for module in sqlite3 libffi expat libpcre2-8 libutf8proc zlib libmd; do
        pkg-config --exists "$module" 2>/dev/null || absent+=("$module")
    done
    for tool in abidw abidiff gcc g++ clang cmake dot sqlite3 valgrind; do
        command -v "$tool" >/dev/null || absent+=("$tool")
    done
    if [ "${#absent[@]}" -gt 0 ]; then
        fail "this is no Debian system (no dpkg-query); install by hand, with static archives: ${absent[*]}"
    fi
fi

stamp=$venv/.requirements
if ! cmp -s scripts/requirements.txt "$stamp"; then
    echo "make deps: Python tools into ${venv#"$PWD"/}"
    "$python" -m venv --clear "$venv" || fail "'$python -m venv' failed; set PYTHON to a Python 3.11 or newer with venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement scripts/requirements.txt
    cp scripts/requirements.txt "$stamp"
fi
