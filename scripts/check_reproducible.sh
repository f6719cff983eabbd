#!/usr/bin/env bash
# Builds all published files again, from the source distribution and in another folder, and compares them with dist/. Then
# builds the wheel with pip, like `pip install` of the source distribution, and compares it too.
# Usage: check_reproducible.sh BUILD VERSION DIST   (environment: REBUILD, the other folder)
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 dist=$3
work=${REBUILD:-$(mktemp -d)}/a-longer-path
other=$work/corestone-$version
[ -s "$dist/SHA256SUMS" ] || { echo "check-reproducible: $dist/SHA256SUMS is missing; run make dist" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(cat "$build/epoch")
export SOURCE_DATE_EPOCH
unset CORESTONE_LIBRARY PYTHONPATH MAKEFLAGS
mkdir -p "$work"
tar -xzf "$dist/corestone-$version.tar.gz" -C "$work"
make -C "$other" dist >"$build/reproducible.log" 2>&1 || { tail -30 "$build/reproducible.log" >&2; exit 1; }
python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/pip" "$other" \
    >>"$build/reproducible.log" 2>&1 || { tail -30 "$build/reproducible.log" >&2; exit 1; }
for folder in "$dist" "$other/dist" "$work/pip"; do
    echo "$folder"
    (cd "$folder" && find . -name "corestone-$version-*" -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
done
if ! diff "$dist/SHA256SUMS" "$other/dist/SHA256SUMS"; then
    echo "check-reproducible: the builds differ; the second one is in $other" >&2
    exit 1
fi
for wheel in "$work"/pip/*.whl; do cmp "$dist/$(basename "$wheel")" "$wheel"; done
echo "check-reproducible: $(wc -l <"$dist/SHA256SUMS") files of two builds in two folders are equal byte for byte"
[ -n "${REBUILD:-}" ] || rm -rf "$(dirname "$work")"
