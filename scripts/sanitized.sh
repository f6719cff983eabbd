# Sourced by the sanitizer scripts: builds the library with a sanitizer and finds the compiler that suits it.
#
# The program that loads a sanitized library must link the same sanitizer runtime, so it is compiled by the clang of the
# Swift toolchain; and the library is linked by lld, since the default linker leaves out what the sanitizers need.

# sanitized_library KIND BUILD: sets `lib` (a folder as build/lib) and `cc` (a compiler with its flags).
sanitized_library() {
    local kind=$1 build=$2 swift=${SWIFT:-swift}
    local flags=(--scratch-path "$build/swift/$kind" "--sanitize=$kind" -Xswiftc -use-ld=lld)
    flags+=(-Xlinker -soname -Xlinker libcorestone.so.1)
    "$swift" build "${flags[@]}" --product corestone
    lib=$build/$kind/lib
    mkdir -p "$lib"
    install -C -m 755 "$("$swift" build "${flags[@]}" --show-bin-path)/libcorestone.so" "$lib/libcorestone.so.1"
    ln -sfn libcorestone.so.1 "$lib/libcorestone.so"
    local resources
    resources=$("${swift}c" -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
    # ThreadSanitizer's runtime refers to Dispatch and blocks, whether a program uses them or not.
    cc="$resources/../../bin/clang -Wno-unused-command-line-argument -fuse-ld=lld"
    [ "$kind" != thread ] || cc+=" -L$resources/linux -ldispatch -lBlocksRuntime"
    # Swift's own libraries stay dynamic here: the static runtime makes ThreadSanitizer report races that are none.
    export LD_LIBRARY_PATH=$resources/linux${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
