#!/usr/bin/env bash
# Installs the packages and tools for building and testing that are missing. It prints nothing if all are installed.
# Usage: deps.sh VENV VENV_PACKAGING   (environment: PYTHON, SWIFT; DEPS: all, packaging or none)
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1 venv_packaging=$2
python=${PYTHON:-python3}
swift=${SWIFT:-swift}

# Libraries that Corestone links, with their static archives, and the tools for building and testing.
packages=(
    libsqlite3-dev libffi-dev libexpat1-dev libpcre2-dev libutf8proc-dev zlib1g-dev libmd-dev
    abigail-tools binutils clang cmake g++ gcc graphviz make pkg-config python3-dev python3-venv sqlite3 valgrind
)

# Tools that build and check the packages.
packaging=(bash-completion debhelper debootstrap dh-python fakeroot fish lintian man-db zsh)
case ${DEPS:-all} in
packaging) packages+=("${packaging[@]}") ;;
none) exit 0 ;;
esac

fail() {
    echo "make deps: $*" >&2
    exit 1
}

if ! "$swift" --version >/dev/null 2>&1; then
    fail "'$swift' does not run; install Swift 6.3 or newer on PATH, or run make SWIFT=/path/to/swift"
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
        command -v apt-get >/dev/null || fail "apt-get is missing; install these packages in another way: ${missing[*]}"
        as_root=()
        if [ "$(id -u)" != 0 ]; then
            command -v sudo >/dev/null || fail "sudo is missing; as root, run: apt-get install ${missing[*]}"
            as_root=(sudo)
        fi
        echo "make deps: installing ${missing[*]}"
        "${as_root[@]}" apt-get update -qq
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
    fi
else
    # On other systems nothing is installed; missing libraries and tools are listed.
    absent=()
    for module in sqlite3 libffi expat libpcre2-8 libutf8proc zlib libmd; do
        pkg-config --exists "$module" 2>/dev/null || absent+=("$module")
    done
    for tool in abidw abidiff gcc g++ clang cmake dot sqlite3 valgrind; do
        command -v "$tool" >/dev/null || absent+=("$tool")
    done
    if [ "${#absent[@]}" -gt 0 ]; then
        fail "without dpkg-query, packages are not installed; install these, with static archives: ${absent[*]}"
    fi
fi

# Usage: tools REQUIREMENTS VENV
tools() {
    cmp -s "$1" "$2/.requirements" && return
    echo "make deps: installing Python tools in ${2#"$PWD"/}"
    "$python" -m venv --clear "$2" || fail "'$python -m venv' failed; set PYTHON to a Python 3.11 or newer with venv"
    "$2/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$1"
    cp "$1" "$2/.requirements"
}
if [ "${DEPS:-all}" = packaging ]; then
    tools scripts/requirements-packaging.txt "$venv_packaging"
else
    tools scripts/requirements.txt "$venv"
fi
