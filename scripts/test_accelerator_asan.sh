#!/usr/bin/env bash
# Runs the tests of the accelerator and of records read as columns, and 20,000 random operations, with AddressSanitizer
# and UndefinedBehaviorSanitizer in the accelerator. Usage: test_accelerator_asan.sh BUILD   (environment: CC, a GCC)
#
# The accelerator is built into a temporary copy of the Python package. Python allocates with malloc, so that
# AddressSanitizer detects uses of released objects.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 compiler=${CC:-cc}
python=$build/venv/bin/python

# Python loads the runtimes of the sanitizers before its own allocations.
runtime=
for name in libasan.so libubsan.so; do
    path=$($compiler -print-file-name=$name)
    if ! [ -e "$path" ]; then
        echo "test_accelerator_asan.sh: $compiler does not have $name; set CC to a GCC with its sanitizers" >&2
        exit 1
    fi
    runtime+=${runtime:+:}$path
done

folder=$(mktemp -d)
# The reports of AddressSanitizer are files, because tests capture the output of their subprocesses.
finish() {
    local status=$?
    if compgen -G "$folder/report.*" >/dev/null; then
        cat "$folder"/report.* >&2
        status=1
    fi
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT
mkdir "$folder/corestone"
(cd bindings/python && find corestone -name '*.py' -o -name py.typed) | while read -r module; do
    install -D -m 644 "bindings/python/$module" "$folder/$module"
done
accelerator=$folder/corestone/_accelerator.abi3.so
CC=$compiler CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
    STRIP=true scripts/accelerator.sh "$python" "$build/include" "$accelerator"
if ! [ -e "$accelerator" ]; then exit 1; fi

sanitized() {
    local options=abort_on_error=1:log_path=$folder/report
    LD_PRELOAD=$runtime PYTHONMALLOC=malloc ASAN_OPTIONS=$options:detect_leaks=0 \
        UBSAN_OPTIONS=$options:print_stacktrace=1 CORESTONE_ACCELERATOR=1 \
        CORESTONE_LIBRARY=$build/lib/libcorestone.so PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1 "$python" "$@"
}

loaded=$(sanitized -c 'import corestone._abi.wrappers as loaded; print(loaded.accelerator.__file__)')
if [ "$loaded" != "$accelerator" ]; then
    echo "test_accelerator_asan.sh: Python loaded $loaded instead of $accelerator" >&2
    exit 1
fi
# The omitted tests measure resident memory, which includes the released blocks that AddressSanitizer keeps. The output
# of a test that aborts is lost with --capture=fd, the default.
sanitized -m pytest -q -rs -p no:cacheprovider --capture=sys \
    bindings/python/tests/test_accelerator.py bindings/python/tests/test_record_columns.py \
    -k "not test_rows_that_cannot_be_decoded_do_not_leak and not test_memory_does_not_grow"
sanitized Tests/accelerator/accelerator_fuzz.py --operations 20000
