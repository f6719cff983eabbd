#!/usr/bin/env bash
# Builds the Debian packages with dpkg-buildpackage from the output of `make build`, and checks them with lintian.
# Usage: build_deb.sh BUILD VERSION DIST
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 dist=$3
work=$build/deb
tree=$work/corestone-$version
rm -rf "$work"
mkdir -p "$tree" "$dist"
# The sources are those of the source distribution, with the licences and the documentation for the packages.
python3 packaging/python/corestone_build.py sdist "$work" >/dev/null
tar -xzf "$work/corestone-$version.tar.gz" -C "$work"
cp -R packaging/debian "$tree/debian"
sed -i "1s/(.*)/($version)/" "$tree/debian/changelog"

(cd "$tree" && CORESTONE_BUILD=$build dpkg-buildpackage --no-sign --build=binary --no-check-builddeps) \
    >"$work/build.log" 2>&1 || { tail -40 "$work/build.log" >&2; exit 1; }
# The packages must contain exactly the files that the SPDX document describes.
contains() { dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "$2" | cmp - "$3"; }
contains "$work"/libcorestone1_*.deb "./usr/lib/*/libcorestone.so.$version" "$build/portable/lib/libcorestone.so.1"
contains "$work"/corestone_*.deb ./usr/bin/corestone "$build/portable/bin/corestone"
rm -f "$dist"/*.deb
cp "$work"/*.deb "$dist/"
# Only errors of lintian make this script fail; its other messages are in the log.
lintian --allow-root --tag-display-limit 0 --show-overrides --pedantic --display-info "$work"/*.changes >"$work/lintian.log" 2>&1 || true
grep -E '^[EWO]:' "$work/lintian.log" || true
lintian --allow-root --fail-on error "$work"/*.changes >/dev/null
(cd "$dist" && stat --format='%n %s bytes' ./*.deb)
echo "lintian: $(grep -c '^E:' "$work/lintian.log" || true) errors, $(grep -c '^W:' "$work/lintian.log" || true) warnings, $(grep -c '^O:' "$work/lintian.log" || true) overridden"
