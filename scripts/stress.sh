#!/usr/bin/env bash
# Many threads against the release library, from C and from Python. Usage: stress.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."
make -C Tests/C LIB="$1/lib" INCLUDE="$1/include" OUT="$1/c-tests" stress
"$1/venv/bin/python" -m pytest -p no:cacheprovider bindings/python/tests -k "thread or stress"
