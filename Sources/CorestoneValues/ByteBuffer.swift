import Glibc

/// An immutable run of bytes with a reference count and a NUL behind the last byte.
///
/// Text and binary values share it, so that a value crosses the C boundary as a plain pointer without a copy.
/// One allocation: the bytes lie behind the object's own fields.
public final class ByteBuffer: ManagedBuffer<Int, UInt8> {
    public static func copying(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        filled(count: bytes.count) { memory in memory.copyMemory(from: bytes) }
    }

    /// A buffer of `count` bytes that `fill` writes, every one of them.
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
    /// The first byte; `count` bytes follow, then one NUL that is not counted. Valid while the buffer lives.
    @inlinable public var start: UnsafePointer<UInt8> { withUnsafeMutablePointerToElements { UnsafePointer($0) } }
    @inlinable public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
}

/// Binary data.
public struct Bytes: @unchecked Sendable {
    public let buffer: ByteBuffer

    public init(copying bytes: UnsafeRawBufferPointer) { buffer = ByteBuffer.copying(bytes) }
    public init(_ bytes: [UInt8]) { buffer = bytes.withUnsafeBytes { ByteBuffer.copying($0) } }
    /// `count` bytes that `fill` writes, every one of them.
    package init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        buffer = ByteBuffer.filled(count: count, fill)
    }

    @inlinable public var count: Int { buffer.count }
    /// The bytes in place; valid while this value lives.
    @inlinable public var rawBytes: UnsafeRawBufferPointer { buffer.bytes }
    public var array: [UInt8] { Array(buffer.bytes) }
}

extension Bytes: Hashable {
    public static func == (a: Bytes, b: Bytes) -> Bool { a.buffer === b.buffer || equalBytes(a.rawBytes, b.rawBytes) }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes: rawBytes) }
}

/// UTF-8 text, compared by code units as Core Data's strings are: `é` composed and decomposed are different texts.
///
/// Swift's own `String` compares by canonical equivalence, which neither SQLite nor `isEqualToString:` does.
public struct Text: @unchecked Sendable {
    public let buffer: ByteBuffer

    /// Takes bytes that are known to be valid UTF-8.
    public init(utf8 bytes: UnsafeRawBufferPointer) { buffer = ByteBuffer.copying(bytes) }
    public init(_ string: String) {
        var string = string
        buffer = string.withUTF8 { ByteBuffer.copying(UnsafeRawBufferPointer($0)) }
    }

    /// The number of UTF-8 bytes.
    @inlinable public var count: Int { buffer.count }
    @inlinable public var isEmpty: Bool { buffer.count == 0 }
    /// The UTF-8 bytes in place; valid while this value lives.
    @inlinable public var utf8: UnsafeRawBufferPointer { buffer.bytes }
    public var string: String { String(decoding: buffer.bytes, as: UTF8.self) }
    /// How many bytes stand before the first one that is not ASCII.
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

/// Whether two runs hold the same bytes.
public func equalBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    a.count == b.count && compareBytes(a, b) == 0
}

/// The order of two runs by unsigned bytes, a prefix first: the order of SQLite's BINARY collation.
public func compareBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let shared = min(a.count, b.count)
    if shared > 0, let x = a.baseAddress, let y = b.baseAddress {
        let order = memcmp(x, y, shared)
        if order != 0 { return Int(order) }
    }
    return a.count - b.count
}
