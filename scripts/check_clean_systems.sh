#!/usr/bin/env bash
# Installs what `make dist` built on clean Debian systems without Swift, made by debootstrap, and runs programs there: from the
# Debian packages, from the archive, and from the wheel, with the tests of the Python package. Logs stay in BUILD/clean.
# Usage: check_clean_systems.sh BUILD VERSION DIST   (environment: SYSTEMS, else "bookworm trixie"; KINDS, else "deb archive wheel")
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 dist=$3
clean=$build/clean
fixtures=${CORESTONE_FIXTURES:-../shared/fixtures}
fail() {
    echo "check-install: $*" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || fail "making a system takes root"
compgen -G "$dist/corestone-$version-*.whl" >/dev/null || fail "there is no wheel in $dist; run make dist"
compgen -G "$dist/*.deb" >/dev/null || fail "there are no packages in $dist; run make dist"
compgen -G "$dist/*-linux-*.tar.gz" >/dev/null || fail "there is no archive in $dist; run make dist"
mkdir -p "$clean/pytest"
zsh -n "$build/share/zsh/site-functions/_corestone"
fish -n "$build/share/fish/vendor_completions.d/corestone.fish"
# The runner of the tests comes from here, so that a system needs no index of packages.
python3 -m pip download --quiet --disable-pip-version-check --dest "$clean/pytest" --only-binary :all: pytest

# Runs a command in a system, in its own name spaces of mounts and processes, with an empty environment.
within() {
    local root=$1
    shift
    unshare --mount --pid --fork bash -c '
        root=$1
        shift
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/dev/shm"
        exec chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
    ' - "$root" "$@"
}

# Unpacks a fresh system; debootstrap makes it once.
system() {
    local suite=$1 root=$2
    if [ ! -s "$clean/$suite.tar" ]; then
        rm -rf "$clean/base"
        debootstrap --variant=minbase "$suite" "$clean/base" >"$clean/$suite-debootstrap.log"
        tar -C "$clean/base" -cf "$clean/$suite.tar.new" .
        mv "$clean/$suite.tar.new" "$clean/$suite.tar"
        rm -rf "$clean/base"
    fi
    rm -rf "$root"
    mkdir -p "$root"
    tar -C "$root" -xf "$clean/$suite.tar"
    mkdir -p "$root/dev/shm"
}

# What a system gets to install and to run: nothing of the sources but examples and tests.
fill() {
    local check=$1/mnt/check
    mkdir -p "$check/dist" "$check/project/bindings/python"
    cp "$dist"/*.deb "$dist"/*.whl "$dist"/*-linux-*.tar.gz "$check/dist/"
    cp scripts/clean_system.sh "$check/"
    cp -R "$clean/pytest" "$check/"
    cp -R bindings/python/tests bindings/python/pyproject.toml bindings/python/README.md "$check/project/bindings/python/"
    cp -R examples include "$check/project/"
    if [ -d "$fixtures" ]; then
        mkdir -p "$check/shared"
        cp -R "$fixtures" "$check/shared/fixtures"
        # What some tests compare the fixtures with.
        for each in tools predicate-cases.json; do
            if [ -e "$fixtures/../$each" ]; then cp -R "$fixtures/../$each" "$check/shared/"; fi
        done
    fi
}

code=0
for suite in ${SYSTEMS:-bookworm trixie}; do
    for kind in ${KINDS:-deb archive wheel}; do
        echo "==== $suite, $kind"
        root=$clean/$suite-$kind
        system "$suite" "$root"
        fill "$root"
        if within "$root" bash /mnt/check/clean_system.sh "$kind" 2>&1 | tee "$clean/$suite-$kind.log"; then
            rm -rf "$root"
            echo "check-install: $suite, $kind: done"
        else
            echo "check-install: $suite, $kind: FAILED; the system is in ${root#"$PWD"/}"
            code=1
        fi
    done
done
exit "$code"
