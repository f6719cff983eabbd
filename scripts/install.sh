#!/usr/bin/env bash
# Installs the output of `make build`. Usage: install.sh BUILD VERSION DESTDIR PREFIX LIBDIR INCLUDEDIR BINDIR PYTHONDIR
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 version=$2 destdir=$3 prefix=$4 libdir=$5 includedir=$6 bindir=$7 pythondir=$8

install -d "$destdir$libdir/pkgconfig" "$destdir$libdir/cmake/Corestone" "$destdir$bindir" "$destdir$pythondir/corestone"
install -m 755 "$build/lib/libcorestone.so.$version" "$destdir$libdir/"
cp -P "$build"/lib/libcorestone.so "$build"/lib/libcorestone.so.[0-9] "$destdir$libdir/"
scripts/copy_headers.sh "$destdir$includedir"
install -m 755 "$build/bin/corestone" "$destdir$bindir/"
(cd bindings/python && find corestone -name '*.py' -o -name py.typed) | while read -r module; do
    install -D -m 644 "bindings/python/$module" "$destdir$pythondir/$module"
done
if [ -e bindings/python/corestone/_accelerator.abi3.so ]; then
    install -m 755 bindings/python/corestone/_accelerator.abi3.so "$destdir$pythondir/corestone/"
fi
(cd "$build/share" && find . -type f) | while read -r page; do
    install -D -m 644 "$build/share/$page" "$destdir$prefix/share/$page"
done

# The CMake package refers to the other files by relative paths, so an installation can be moved as a whole.
package_dir=$libdir/cmake/Corestone
fill() {
    sed -e "s|@VERSION@|$version|g" -e "s|@PREFIX@|$prefix|g" -e "s|@LIBDIR@|$libdir|g" \
        -e "s|@INCLUDEDIR@|$includedir|g" \
        -e "s|@RELATIVE_LIBDIR@|$(realpath -m --relative-to="$package_dir" "$libdir")|g" \
        -e "s|@RELATIVE_INCLUDEDIR@|$(realpath -m --relative-to="$package_dir" "$includedir")|g" "$1" >"$2"
    chmod 644 "$2"
}
fill corestone.pc.in "$destdir$libdir/pkgconfig/corestone.pc"
fill cmake/CorestoneConfig.cmake.in "$destdir$package_dir/CorestoneConfig.cmake"
fill cmake/CorestoneConfigVersion.cmake.in "$destdir$package_dir/CorestoneConfigVersion.cmake"
echo "installed Corestone $version under ${destdir}${prefix}, its Python package in ${destdir}${pythondir}"
