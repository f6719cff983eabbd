# Sourced by the sanitizer scripts: builds the library with a sanitizer and finds a compiler for it.
#
# A program that loads a sanitized library must link the same sanitizer runtime, so it is compiled by the clang of the
# Swift toolchain. The library is linked by lld, as the default linker omits sections that the sanitizers need.

# sanitized_library KIND BUILD: sets `lib` (a folder like build/lib) and `cc` (a compiler with its flags).
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
    # ThreadSanitizer's runtime needs Dispatch and blocks, even if a program does not use them.
    cc="$resources/../../bin/clang -Wno-unused-command-line-argument -fuse-ld=lld"
    [ "$kind" != thread ] || cc+=" -L$resources/linux -ldispatch -lBlocksRuntime"
    # Swift's own libraries are dynamic here, as ThreadSanitizer reports false races in the static runtime.
    export LD_LIBRARY_PATH=$resources/linux${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
