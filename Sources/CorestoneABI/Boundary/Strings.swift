import CCorestone
import CorestoneValues
import Glibc

extension cst_string {
    static var null: cst_string { cst_string(data: nil, size: 0) }

    /// Creates a view of a text, which must outlive the view.
    init(_ text: Text?) {
        guard let text else {
            self = .null
            return
        }
        self.init(data: UnsafeRawPointer(text.buffer.start).assumingMemoryBound(to: CChar.self), size: text.count)
    }

    /// Returns the bytes, or nil for a null string. Throws if they are not UTF-8.
    func utf8(_ name: StaticString) throws -> UnsafeRawBufferPointer? {
        guard let data else {
            guard size == 0 || size == Int(bitPattern: UInt.max) else {
                throw CoreError(
                    .invalidArgument,
                    "\(name) is NULL but has the size \(UInt(bitPattern: size)); pass its bytes, or the size 0",
                    key: parameterKey(name), value: sizeValue(size))
            }
            return nil
        }
        let count = size == Int(bitPattern: UInt.max) ? strlen(data) : size
        guard count >= 0, count < Int(Int32.max) else {
            throw CoreError(
                .invalidArgument, "\(name) has \(UInt(bitPattern: count)) bytes, but the limit is 2147483646",
                key: parameterKey(name), value: sizeValue(count))
        }
        let bytes = UnsafeRawBufferPointer(start: data, count: count)
        if let bad = firstInvalidUTF8(bytes) {
            throw CoreError(
                .invalidUTF8, "\(name) is not valid UTF-8 at byte \(bad)", key: parameterKey(name), offset: bad)
        }
        return bytes
    }

    func string(_ name: StaticString) throws -> String {
        guard let bytes = try utf8(name) else {
            throw CoreError(.invalidArgument, "\(name) is NULL; pass a string", key: parameterKey(name))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a path. Throws for an empty text, and for bytes that are not UTF-8 or contain a NUL.
    ///
    /// Such bytes could name another file.
    func filePath(_ name: StaticString) throws -> String {
        let path: String
        do { path = try string(name) } catch let error as CoreError where error.status == .invalidUTF8 {
            throw CoreError(
                .invalidUTF8,
                "\(error.message); pass the path in UTF-8, or rename the file or folder if its name is not UTF-8",
                key: error.key, offset: error.offset)
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(name) \(path.isEmpty ? "is empty; pass a path" : "contains a NUL byte; remove it")",
                key: parameterKey(name), value: .string(path))
        }
        return path
    }

    /// Returns a path, or nil for a null string.
    func optionalFilePath(_ name: StaticString) throws -> String? {
        try utf8(name) == nil ? nil : try filePath(name)
    }

    /// Returns the string, or nil for a null string.
    func optionalString(_ name: StaticString) throws -> String? {
        try utf8(name).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Returns the strings of an array. An error names the element.
func strings(_ start: UnsafePointer<cst_string>?, _ count: Int, _ name: StaticString) throws -> [String] {
    try elements(start, count, name) { try $0.string("the string") }
}

/// Returns the paths of an array. An error names the element.
func filePaths(_ start: UnsafePointer<cst_string>?, _ count: Int, _ name: StaticString) throws -> [String] {
    try elements(start, count, name) { try $0.filePath("the path") }
}

private func elements(
    _ start: UnsafePointer<cst_string>?, _ count: Int, _ name: StaticString, _ read: (cst_string) throws -> String
) throws -> [String] {
    try array(start, count, name).enumerated().map { place, text -> String in
        do { return try read(text) } catch let error as CoreError {
            throw error.within("\(name)[\(place)]", key: parameterKey(name))
        }
    }
}

extension cst_bytes {
    /// Returns a copy of the bytes.
    ///
    /// - Parameter file: The path of the store to which they belong, for errors.
    func array(_ name: StaticString, limit: Int, file: String? = nil) throws -> [UInt8] {
        let place = file.map { " for \($0)" } ?? ""
        guard let data else {
            throw CoreError(
                .invalidArgument, "\(name)\(place) is NULL; pass its bytes", key: parameterKey(name),
                file: file)
        }
        guard 0...limit ~= size else {
            throw CoreError(
                .invalidArgument, "\(name)\(place) has \(UInt(bitPattern: size)) bytes, but the limit is \(limit)",
                key: parameterKey(name), value: sizeValue(size), file: file)
        }
        return Array(UnsafeRawBufferPointer(start: data, count: size))
    }
}

extension UnsafeMutablePointer where Pointee == cst_buffer {
    /// Writes bytes and a NUL into the buffer, which grows as needed.
    func fill(_ bytes: UnsafeRawBufferPointer) throws {
        try reserve(bytes.count)
        if let base = bytes.baseAddress, let data = pointee.data { memcpy(data, base, bytes.count) }
        end(at: bytes.count)
    }

    func fill(_ text: String) throws {
        var text = text
        try text.withUTF8 { try fill(UnsafeRawBufferPointer($0)) }
    }

    /// Reserves space for `count` bytes and a NUL.
    ///
    /// - Parameter remedy: The remedy in the error if memory cannot be allocated.
    func reserve(_ count: Int, remedy: StaticString = "free some memory") throws {
        if pointee.data != nil && pointee.capacity > count { return }
        guard let data = realloc(pointee.data, count + 1) else {
            let unit = count == 1 ? "byte" : "bytes"
            throw CoreError(.noMemory, "out of memory: cannot allocate a buffer of \(count) \(unit); \(remedy)")
        }
        pointee.data = data.assumingMemoryBound(to: CChar.self)
        pointee.capacity = count + 1
    }

    func end(at count: Int) {
        pointee.size = count
        pointee.data?[count] = 0
    }
}
