#!/usr/bin/env bash
# Copies the C headers and their description, corestone-api.json, to a folder. Usage: copy_headers.sh FOLDER
set -euo pipefail
target=$(realpath -m "$1")
cd "$(dirname "$0")/../include"
install -d "$target/corestone"
install -C -m 644 corestone.h corestone-api.json "$target/"
install -C -m 644 corestone/*.h "$target/corestone/"
