#!/usr/bin/env bash
# The demonstration: the machine's own package database, imported by C and by Python into one store, then questioned.
# Usage: demo.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
