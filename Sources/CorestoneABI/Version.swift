import CCorestone

@_cdecl("cst_version") @implementation
public func cst_version(_ major: UnsafeMutablePointer<Int32>?, _ minor: UnsafeMutablePointer<Int32>?, _ patch: UnsafeMutablePointer<Int32>?) {
    major?.pointee = CST_VERSION_MAJOR
    minor?.pointee = CST_VERSION_MINOR
    patch?.pointee = CST_VERSION_PATCH
}
