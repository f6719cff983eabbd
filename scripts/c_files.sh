#!/usr/bin/env bash
# Prints the C and C++ files of the project, one per line.
cd "$(dirname "$0")/.."
git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp'
