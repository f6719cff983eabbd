#!/usr/bin/env bash
# Builds everything that is published once more, in another folder, and compares it with dist/.
# Usage: check_reproducible.sh BUILD VERSION DIST   (environment: REBUILD, the other folder)
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 dist=$3
other=${REBUILD:-$(mktemp -d)/a-longer-path/corestone}
[ -s "$dist/SHA256SUMS" ] || { echo "check-reproducible: there is no $dist/SHA256SUMS; run make dist" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(cat "$build/epoch")
export SOURCE_DATE_EPOCH
mkdir -p "$other"
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -C "$other" -xf -
(cd "$other" && env -u CORESTONE_LIBRARY -u PYTHONPATH make dist) >"$build/reproducible.log" 2>&1 \
    || { tail -30 "$build/reproducible.log" >&2; exit 1; }
# The first folder, then the second.
for folder in "$dist" "$other/dist"; do
    (cd "$folder" && sha256sum corestone-"$version"-linux-*.tar.gz)
done
if ! diff "$dist/SHA256SUMS" "$other/dist/SHA256SUMS"; then
    echo "check-reproducible: the builds differ; the second one is in $other" >&2
    exit 1
fi
echo "check-reproducible: $(wc -l <"$dist/SHA256SUMS") files of two builds from two folders are equal byte for byte"
[ -n "${REBUILD:-}" ] || rm -rf "$other"
