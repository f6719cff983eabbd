import CCorestone
import CPlatform
import CorestoneValues
import Glibc

@_cdecl("cst_version") @implementation
public func cst_version(
    _ major: UnsafeMutablePointer<Int32>?, _ minor: UnsafeMutablePointer<Int32>?, _ patch: UnsafeMutablePointer<Int32>?
) {
    major?.pointee = CST_VERSION_MAJOR
    minor?.pointee = CST_VERSION_MINOR
    patch?.pointee = CST_VERSION_PATCH
}

private let versionText = Text("\(CST_VERSION_MAJOR).\(CST_VERSION_MINOR).\(CST_VERSION_PATCH)")

@_cdecl("cst_version_string") @implementation
public func cst_version_string() -> cst_string { cst_string(versionText) }

@_cdecl("cst_retain") @implementation
public func cst_retain(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if platform_is_forked() { return nil }
    return HandleTable.retainForHost(HandleToken(UInt(bitPattern: pointer))) ? pointer : nil
}

@_cdecl("cst_release") @implementation
public func cst_release(_ pointer: UnsafeMutableRawPointer?) -> cst_status {
    guard let pointer else { return Status.ok.rawValue }
    if platform_is_forked() { return Status.forked.rawValue }
    // If the host does not own a reference, as for a borrowed handle, the call fails as for an invalid handle.
    return HandleTable.releaseByHost(HandleToken(UInt(bitPattern: pointer)))
        ? Status.ok.rawValue : Status.invalidHandle.rawValue
}

@_cdecl("cst_handle_count") @implementation
public func cst_handle_count() -> Int { platform_handle_count() }

@_cdecl("cst_buffer_fill") @implementation
public func cst_buffer_fill(
    _ buffer: UnsafeMutablePointer<cst_buffer>?, _ bytes: cst_bytes, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let buffer = try required(buffer, "buffer")
        guard bytes.data != nil || bytes.size == 0 else {
            throw CoreError(
                .invalidArgument,
                "bytes is NULL but has the size \(UInt(bitPattern: bytes.size)); pass its bytes, or the size 0",
                key: "bytes", value: sizeValue(bytes.size))
        }
        guard bytes.size >= 0, bytes.size < Int(Int32.max) else {
            throw CoreError(
                .invalidArgument,
                "bytes has \(UInt(bitPattern: bytes.size)) bytes, but the limit is \(Int32.max - 1)",
                key: "bytes", value: sizeValue(bytes.size))
        }
        try buffer.fill(UnsafeRawBufferPointer(start: bytes.data, count: bytes.size))
    }
}

@_cdecl("cst_buffer_dispose") @implementation
public func cst_buffer_dispose(_ buffer: UnsafeMutablePointer<cst_buffer>?) {
    guard let buffer else { return }
    free(buffer.pointee.data)
    buffer.pointee = cst_buffer(data: nil, size: 0, capacity: 0)
}
