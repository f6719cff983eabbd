import Glibc

/// An immutable, reference-counted buffer of bytes with a NUL after the last byte.
///
/// Text and binary values are stored in such buffers, so a value crosses the C boundary as a plain pointer without a
/// copy. The bytes follow the object's own fields in the same allocation.
public final class ByteBuffer: ManagedBuffer<Int, UInt8> {
    public static func copying(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        filled(count: bytes.count) { memory in memory.copyMemory(from: bytes) }
    }

    /// Returns a buffer of `count` bytes. `fill` must write all of them.
    @inline(__always)
    static func filled(count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> ByteBuffer {
        let buffer = create(minimumCapacity: count + 1) { _ in count }
        buffer.withUnsafeMutablePointerToElements { start in
            fill(UnsafeMutableRawBufferPointer(start: start, count: count))
            start[count] = 0
        }
        return unsafeDowncast(buffer, to: ByteBuffer.self)
    }

    @inlinable public var count: Int { header }
    /// The first byte; `count` bytes follow, then one NUL that is not counted. Valid as long as the buffer exists.
    @inlinable public var start: UnsafePointer<UInt8> { withUnsafeMutablePointerToElements { UnsafePointer($0) } }
    @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
}

/// Binary data.
public struct Bytes: @unchecked Sendable {
    public let buffer: ByteBuffer

    public init(copying bytes: UnsafeRawBufferPointer) { buffer = ByteBuffer.copying(bytes) }
    public init(_ bytes: [UInt8]) { buffer = bytes.withUnsafeBytes { ByteBuffer.copying($0) } }
    /// Creates `count` bytes. `fill` must write all of them.
    package init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        buffer = ByteBuffer.filled(count: count, fill)
    }

    @inlinable public var count: Int { buffer.count }
    /// The bytes, not copied. Valid as long as this value exists.
    @inlinable public var rawBytes: UnsafeRawBufferPointer { buffer.bytes }
    public var array: [UInt8] { Array(buffer.bytes) }
}

extension Bytes: Hashable {
    public static func == (a: Bytes, b: Bytes) -> Bool { a.buffer === b.buffer || equalBytes(a.rawBytes, b.rawBytes) }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes: rawBytes) }
}

/// UTF-8 text that is compared by code units, as Core Data does: composed and decomposed `é` differ.
///
/// Swift's `String` compares by canonical equivalence, unlike SQLite and `isEqualToString:`.
public struct Text: @unchecked Sendable {
    public let buffer: ByteBuffer

    /// Creates a text from a copy of the bytes, which must be valid UTF-8.
    public init(utf8 bytes: UnsafeRawBufferPointer) { buffer = ByteBuffer.copying(bytes) }
    public init(_ string: String) {
        var string = string
        buffer = string.withUTF8 { ByteBuffer.copying(UnsafeRawBufferPointer($0)) }
    }

    /// The number of UTF-8 bytes.
    @inlinable public var count: Int { buffer.count }
    @inlinable public var isEmpty: Bool { buffer.count == 0 }
    /// The UTF-8 bytes, not copied. Valid as long as this value exists.
    @inlinable public var utf8: UnsafeRawBufferPointer { buffer.bytes }
    public var string: String { String(decoding: buffer.bytes, as: UTF8.self) }
    /// The number of ASCII bytes at the start of the text.
    package var asciiCount: Int { asciiPrefix(utf8) }
    package var isASCII: Bool { asciiCount == count }
}

extension Text: Hashable, Comparable {
    public static func == (a: Text, b: Text) -> Bool { a.buffer === b.buffer || equalBytes(a.utf8, b.utf8) }
    public static func < (a: Text, b: Text) -> Bool { compareBytes(a.utf8, b.utf8) < 0 }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes: utf8) }
}

extension Text: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral value: String) { self.init(value) }
    public var description: String { string }
}

/// Whether two buffers contain the same bytes.
public func equalBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    a.count == b.count && compareBytes(a, b) == 0
}

/// Compares two buffers by unsigned bytes, as SQLite's BINARY collation does: a prefix precedes the longer text.
///
/// Returns a negative number, zero or a positive number.
public func compareBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let shared = min(a.count, b.count)
    if shared > 0, let x = a.baseAddress, let y = b.baseAddress {
        let order = memcmp(x, y, shared)
        if order != 0 { return Int(order) }
    }
    return a.count - b.count
}
