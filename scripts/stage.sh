#!/usr/bin/env bash
# Copies a binary without its symbols and the names of its compilers. An equal destination is not replaced, so that make does not
# build the files that depend on it again.
# Usage: stage.sh SOURCE DESTINATION
set -euo pipefail
mkdir -p "$(dirname "$2")"
strip --strip-unneeded --remove-section=.comment -o "$2.new" "$1"
chmod 755 "$2.new"
if cmp -s "$2.new" "$2"; then rm "$2.new"; else mv "$2.new" "$2"; fi
