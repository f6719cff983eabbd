import CPlatform
import CorestoneModel
import CorestoneValues

/// An array of an Arrow stream: its type, which the schema states, and the data of the current record batch.
///
/// The number of buffers, lengths and offsets are checked when a batch is loaded. The sizes of buffers are not part of
/// the C data interface, so buffers that are smaller than an array's length requires cannot be detected.
final class ArrowInput {
    let type: ArrowInputType
    /// The name of the type, for messages.
    let typeName: String
    /// The name of the column with the array, for messages.
    let column: String
    /// Whether this is the array of items, of a field or of a dictionary, not the column itself.
    private let isNested: Bool
    let children: [ArrowInput]
    /// The names of the children of a struct.
    let names: [String]
    let dictionary: ArrowInput?

    /// The number of loaded values.
    private(set) var count = 0
    /// The place of the first loaded value in the buffers.
    var start = 0
    var validity: UnsafeRawPointer?
    /// The values, views or offsets.
    var values = ArrowInput.nothing
    /// The bytes to which offsets refer.
    var data: UnsafeRawPointer?
    /// The buffers to which views refer, and their sizes.
    var pieces: UnsafeBufferPointer<UnsafeRawPointer?> = .init(start: nil, count: 0)
    var pieceSizes = ArrowInput.nothing

    /// The deepest nesting of types: composite attributes may have 16 levels, and a level may be a dictionary.
    private static let maximumDepth = 2 * Attribute.maximumNesting + 2
    /// The greatest length and offset of an array, so that sizes in bytes do not overflow.
    private static let maximumLength = Int64(1) << 48
    /// An address for empty buffers. It is never read.
    static var nothing: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped }

    /// Reads the type of a field.
    ///
    /// - Throws: `.invalidArgument` if the schema is damaged.
    ///   `.unsupported` for a type that cannot be imported.
    init(_ schema: UnsafePointer<platform_arrow_schema>, column: String, depth: Int = 0) throws {
        (self.column, isNested) = (column, depth > 0)
        let field = schema.pointee
        guard let text = field.format else {
            throw ArrowInput.damaged(column, "does not have a format", isNested: isNested)
        }
        let format = String(cString: text)
        guard depth <= ArrowInput.maximumDepth else {
            throw ArrowInput.damaged(column, "is nested more than \(ArrowInput.maximumDepth) levels deep")
        }
        guard let type = ArrowInputType(format: format) else {
            throw ArrowInput.unsupported(column, format, isNested: isNested)
        }
        self.type = type
        let expected: Int64? =
            switch type {
            case .structure: nil
            case .list, .fixedList: 1
            default: 0
            }
        guard expected.map({ $0 == field.n_children }) ?? (0...Int64(Int32.max) ~= field.n_children) else {
            throw ArrowInput.damaged(
                column,
                "has the type \(arrowTypeName(format)) with \(ArrowInput.counted(field.n_children))"
                    + (expected.map { " instead of \($0)" } ?? ""),
                isNested: isNested)
        }
        var (children, names) = ([ArrowInput](), [String]())
        for place in 0..<Int(field.n_children) {
            guard let child = field.children?[place], child.pointee.release != nil else {
                throw ArrowInput.damaged(column, "does not have its child \(place)", isNested: isNested)
            }
            names.append(child.pointee.name.map { String(cString: $0) } ?? "")
            children.append(try ArrowInput(child, column: column, depth: depth + 1))
        }
        (self.children, self.names) = (children, names)
        guard let values = field.dictionary else {
            dictionary = nil
            typeName =
                children.count == 1 && type != .structure
                ? "\(arrowTypeName(format))<\(children[0].typeName)>" : arrowTypeName(format)
            return
        }
        guard type.isInteger else {
            throw ArrowInput.damaged(
                column, "is a dictionary whose indices are \(arrowTypeName(format)), not integers", isNested: isNested)
        }
        let dictionary = try ArrowInput(values, column: column, depth: depth + 1)
        self.dictionary = dictionary
        typeName = "dictionary<\(arrowTypeName(format)), \(dictionary.typeName)>"
    }

    /// The type of the values: that of the dictionary, if there is one.
    var valueType: ArrowInputType { dictionary?.valueType ?? type }

    // MARK: Batches

    /// Refers to the values of an array, starting at `base`. The array must stay valid until the next call.
    ///
    /// - Parameter base: The place of the first value, apart from the array's own offset.
    /// - Throws: `.invalidArgument` if the array does not have the type, or if its lengths or offsets are inconsistent.
    func load(_ place: UnsafePointer<platform_arrow_array>?, from base: Int64 = 0, count wanted: Int64) throws {
        guard let array = place?.pointee, array.release != nil else { throw damaged("does not have an array") }
        let limit = ArrowInput.maximumLength
        guard 0...limit ~= array.length, 0...limit ~= array.offset else {
            throw damaged("has the length \(array.length) and the offset \(array.offset), but takes 0 to \(limit)")
        }
        guard 0...limit ~= base, 0...limit ~= wanted, base + wanted <= array.length else {
            throw damaged("has the length \(array.length), but needs at least \(base + wanted)")
        }
        guard type.bufferCount.map({ $0 == array.n_buffers }) ?? (3...Int64(Int32.max) ~= array.n_buffers) else {
            let needed = type.bufferCount.map { "\($0)" } ?? "at least 3"
            throw damaged("has the buffer count \(array.n_buffers), but needs \(needed)")
        }
        guard array.n_children == children.count, array.n_children == 0 || array.children != nil else {
            throw damaged("has \(ArrowInput.counted(array.n_children)) instead of \(children.count)")
        }
        guard (array.dictionary == nil) == (dictionary == nil) else {
            throw damaged(dictionary == nil ? "has an unexpected dictionary" : "does not have its dictionary")
        }
        guard array.n_buffers == 0 || array.buffers != nil else { throw damaged("does not have its buffers") }
        (start, count) = (Int(array.offset + base), Int(wanted))
        guard !(start + count).multipliedReportingOverflow(by: max(type.width, 1)).overflow else {
            throw damaged("has \(array.length) values of \(type.width) bytes, whose size exceeds 64 bits")
        }
        validity = array.n_buffers == 0 ? nil : array.buffers[0]
        if validity == nil, array.null_count > 0, type != .null {
            throw damaged("has the null count \(array.null_count), but does not have a validity bitmap")
        }
        if array.n_buffers > 1, count > 0, values(array) == nil { throw damaged("does not have a buffer of values") }
        values = array.n_buffers > 1 ? values(array) ?? ArrowInput.nothing : ArrowInput.nothing
        if type.offsetWidth > 0 { try loadOffsets(array) }
        if type.bufferCount == nil { try loadPieces(array) }
        if let dictionary {
            let entries = array.dictionary.pointee.length
            guard entries >= 0 else { throw damaged("has a dictionary with the count \(entries)") }
            try dictionary.load(array.dictionary, count: entries)
        }
        try loadChildren(array)
    }

    private func values(_ array: platform_arrow_array) -> UnsafeRawPointer? { array.buffers[1] }

    private func loadChildren(_ array: platform_arrow_array) throws {
        switch type {
        case .structure:
            for (place, child) in children.enumerated() {
                try child.load(array.children[place], from: Int64(start), count: Int64(count))
            }
        case .list:
            guard let items = array.children[0] else { throw damaged("does not have its items") }
            let end = count > 0 ? offset(count) : 0
            guard items.pointee.length >= end else {
                throw damaged("has the item count \(items.pointee.length), but its offsets need \(end)")
            }
            try children[0].load(items, count: Int64(end))
        case .fixedList(let size):
            let (end, overflow) = (start + count).multipliedReportingOverflow(by: size)
            guard !overflow else { throw damaged("has lists of \(size) items, whose total exceeds 64 bits") }
            try children[0].load(array.children[0], count: count > 0 ? Int64(end) : 0)
        default: break
        }
    }

    /// Checks that the offsets are not negative and do not decrease.
    private func loadOffsets(_ array: platform_arrow_array) throws {
        data = type.bufferCount == 3 ? array.buffers[2] : nil
        guard count > 0 else { return }
        var last = offset(0)
        guard last >= 0 else { throw damaged("has the offset \(last), but must have 0 or more") }
        for place in 1...count {
            let next = offset(place)
            guard next >= last else {
                throw damaged("has the offset \(next) after \(last), but offsets must not decrease")
            }
            last = next
        }
        guard last <= ArrowInput.maximumLength else {
            throw damaged("has the offset \(last), but the limit is \(ArrowInput.maximumLength)")
        }
        if data == nil, type.bufferCount == 3, last > offset(0) { throw damaged("does not have a buffer of bytes") }
    }

    private func loadPieces(_ array: platform_arrow_array) throws {
        let number = Int(array.n_buffers) - 3
        pieces = UnsafeBufferPointer(start: array.buffers + 2, count: number)
        guard let sizes = array.buffers[Int(array.n_buffers) - 1] ?? (number == 0 ? ArrowInput.nothing : nil) else {
            throw damaged("does not have the sizes of its buffers")
        }
        pieceSizes = sizes
    }

    /// Returns an offset of the loaded values: the end of value `place - 1`, and the start of value `place`.
    @inline(__always)
    func offset(_ place: Int) -> Int {
        type.offsetWidth == 4
            ? Int(values.loadUnaligned(fromByteOffset: (start + place) * 4, as: Int32.self))
            : Int(values.loadUnaligned(fromByteOffset: (start + place) * 8, as: Int64.self))
    }

    // MARK: Errors

    /// The column in parentheses, for messages after the type of this array.
    var place: String { "(\(isNested ? "in the " : "")column \(quoted(column)))" }

    func damaged(_ problem: String) -> CoreError {
        ArrowInput.damaged(column, "(\(typeName)) \(problem)", isNested: isNested)
    }

    private static func counted(_ children: Int64) -> String { "\(children) \(children == 1 ? "child" : "children")" }

    /// Creates an error about a stream that does not follow the C data interface.
    private static func damaged(_ column: String, _ problem: String, isNested: Bool = false) -> CoreError {
        let subject = isNested ? "a nested array of the column" : "the column"
        return CoreError(
            .invalidArgument,
            "\(subject) \(quoted(column)) of the Arrow stream \(problem); report it as a defect of the library that "
                + "exports the stream", key: column)
    }

    private static func unsupported(_ column: String, _ format: String, isNested: Bool) -> CoreError {
        let name = arrowTypeName(format)
        let verb = isNested ? "contains values of" : name.hasPrefix("the format") ? "has" : "is"
        let isTime = !isNested && ["tt", "tD"].contains(format.prefix(2))
        return CoreError(
            .typeMismatch,
            "the column \(quoted(column)) \(verb) \(name), which cannot be imported; "
                + (isTime ? "cast the column to a number" : "cast the column, or leave it out"), key: column)
    }
}
