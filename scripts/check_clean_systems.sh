#!/usr/bin/env bash
# Installs the output of `make dist` on clean Debian systems without Swift, created by debootstrap, and runs programs there:
# from the Debian packages, from the archive, and from the wheel with the tests of the Python package. Logs are in BUILD/clean.
# Usage: check_clean_systems.sh BUILD VERSION DIST
# Environment: SYSTEMS (default "bookworm trixie"), KINDS (default "deb archive wheel"), CORESTONE_FIXTURES
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 dist=$3
clean=$build/clean
fixtures=${CORESTONE_FIXTURES:-../shared/fixtures}
fail() {
    echo "check-install: $*" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || fail "debootstrap needs root"
compgen -G "$dist/corestone-$version-*.whl" >/dev/null || fail "$dist does not contain a wheel; run make dist"
compgen -G "$dist/*.deb" >/dev/null || fail "$dist does not contain packages; run make dist"
compgen -G "$dist/*-linux-*.tar.gz" >/dev/null || fail "$dist does not contain an archive; run make dist"
mkdir -p "$clean/pytest"
zsh -n "$build/share/zsh/site-functions/_corestone"
fish -n "$build/share/fish/vendor_completions.d/corestone.fish"
# pytest is downloaded here, so that a system does not need PyPI.
python3 -m pip download --quiet --disable-pip-version-check --dest "$clean/pytest" --only-binary :all: pytest

# Runs a command in a system, in its own namespaces of mounts and processes, with an empty environment.
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

# Unpacks a new system, which debootstrap creates at the first call.
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

# Copies the files to install and to run into a system: of the sources, only examples, headers and tests.
fill() {
    local check=$1/mnt/check
    mkdir -p "$check/dist" "$check/project/bindings/python" "$check/project/Tests"
    cp "$dist"/*.deb "$dist"/*.whl "$dist"/*-linux-*.tar.gz "$check/dist/"
    cp scripts/clean_system.sh "$check/"
    cp -R "$clean/pytest" "$check/"
    cp -R bindings/python/tests bindings/python/pyproject.toml bindings/python/README.md "$check/project/bindings/python/"
    cp -R Tests/support "$check/project/Tests/"
    cp -R examples include "$check/project/"
    if [ -d "$fixtures" ]; then
        mkdir -p "$check/shared"
        cp -R "$fixtures" "$check/shared/fixtures"
        # Data that some tests compare with the fixtures.
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
