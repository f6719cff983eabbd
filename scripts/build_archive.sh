#!/usr/bin/env bash
# Packs the build and the packages into one archive, and writes the SBOM and SHA256SUMS.
# Usage: build_archive.sh BUILD VERSION DIST
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 dist=$3
name=corestone-$version-linux-$(uname -m)
work=$build/archive
tree=$work/$name
rm -rf "$work"
mkdir -p "$tree/packages"
# The tree can be moved to any folder: the files of pkg-config and CMake refer to the others by relative paths.
scripts/install.sh "$build/portable" "$version" "$tree" "" /lib /include /bin /lib/python3/site-packages >/dev/null
sed -i -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^libdir=.*|libdir=${prefix}/lib|' \
    -e 's|^includedir=.*|includedir=${prefix}/include|' "$tree/lib/pkgconfig/corestone.pc"
cp LICENSE CHANGELOG.md docs/INSTALL.md "$build/sbom/corestone.spdx.json" "$build/sbom/THIRD-PARTY-NOTICES.txt" "$tree/"
cp "$dist"/corestone-"$version"-*.whl "$dist"/*.deb "$dist/corestone-$version.tar.gz" "$tree/packages/"
chmod -R u=rwX,go=rX "$tree"

sums() {
    (cd "$1" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
}
sums "$tree"
cp "$build/sbom/corestone.spdx.json" "$dist/corestone-$version.spdx.json"
tar -C "$work" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" \
    | gzip -9n >"$dist/$name.tar.gz"
sums "$dist"
echo "$SOURCE_DATE_EPOCH" >"$build/epoch" # for check_reproducible.sh, which may run after a later commit
cat "$dist/SHA256SUMS"
