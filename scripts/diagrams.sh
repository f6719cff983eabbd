#!/usr/bin/env bash
# Draws the model of the package demonstration and those of three fixtures as SVG and PNG, in BUILD/diagrams.
# Usage: diagrams.sh BUILD   (environment: CORESTONE_FIXTURES)
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
sources=${CORESTONE_FIXTURES:-../shared/fixtures}/source-models

mkdir -p "$build/diagrams"
draw() {
    local name
    name=$(basename "$1" .xcdatamodeld)
    for kind in svg png; do
        "$build/bin/corestone" model diagram "$1" -o "$build/diagrams/$name.$kind"
    done
    echo "build/diagrams/$name.svg and .png"
}

draw examples/packages/Packages.xcdatamodeld
if [ ! -d "$sources" ]; then
    echo "make diagrams: $sources does not exist; only the model of the demonstration was drawn" >&2
    exit "${CORESTONE_REQUIRE_FIXTURES:-0}"
fi
# Three models with inheritance; the last two have an abstract entity.
draw "$sources/alemar11+CoreDataPlus/SampleModel.xcdatamodeld"
draw "$sources/OpenEmu+OpenEmu/OEDatabase.xcdatamodeld"
draw "$sources/objcio+core-data/Moody.xcdatamodeld"
