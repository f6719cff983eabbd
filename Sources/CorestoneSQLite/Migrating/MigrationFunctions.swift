import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The SQL functions that statements of a migration call.
///
/// The object must outlive the statements, and `end` removes the functions.
final class MigrationFunctions {
    /// `cst_converted(value, from, to)`: a stored value converted to another attribute type.
    ///
    /// Null if the conversion is not exact.
    static let conversion = "cst_converted"
    /// `cst_history_mask(mask, number)`: the mask of a change, translated to the slots of the new model.
    static let mask = "cst_history_mask"

    private let connection: Connection
    private let externalFolder: String
    private let limits: StoreLimits
    /// The slots by the former number of an entity.
    private let masks: [Int64: (former: HistorySlots, wanted: HistorySlots, pair: EntityPair)]
    /// The error that a function threw.
    private var failure: CoreError?

    init(_ connection: Connection, mapping: ModelMapping, former: StoreSchema, externalFolder: String) throws {
        self.connection = connection
        self.externalFolder = externalFolder
        limits = connection.limits
        var masks: [Int64: (former: HistorySlots, wanted: HistorySlots, pair: EntityPair)] = [:]
        for pair in mapping.entities {
            guard let source = pair.source, let destination = pair.destination else { continue }
            masks[former.number(of: source)] = (HistorySlots(of: source), HistorySlots(of: destination), pair)
        }
        self.masks = masks
        try register(MigrationFunctions.conversion, 3) { $0.convert($1, $2) }
        try register(ValueConversion.inliningFunction, 1) { $0.inline($1, $2) }
        try register(MigrationFunctions.mask, 2) { $0.translate($1, $2) }
    }

    /// Removes the functions.
    func end() {
        for (name, count) in [
            (MigrationFunctions.conversion, 3), (ValueConversion.inliningFunction, 1), (MigrationFunctions.mask, 2),
        ] {
            sqlite3_create_function_v2(connection.db, name, Int32(count), SQLITE_UTF8, nil, nil, nil, nil, nil)
        }
    }

    /// Returns and clears the error that made a statement fail.
    func takeFailure() -> CoreError? {
        defer { failure = nil }
        return failure
    }

    private typealias Body = (MigrationFunctions, OpaquePointer, UnsafeMutablePointer<OpaquePointer?>) -> Void

    private final class Entry {
        unowned let owner: MigrationFunctions
        let body: Body
        init(_ owner: MigrationFunctions, _ body: @escaping Body) { (self.owner, self.body) = (owner, body) }
    }
    private var entries: [Entry] = []

    private func register(_ name: String, _ count: Int32, _ body: @escaping Body) throws {
        let entry = Entry(self, body)
        entries.append(entry)
        let code = sqlite3_create_function_v2(
            connection.db, name, count, SQLITE_UTF8 | SQLITE_DIRECTONLY, Unmanaged.passUnretained(entry).toOpaque(),
            { context, _, arguments in
                guard let context, let arguments, let userData = sqlite3_user_data(context) else { return }
                let entry = Unmanaged<Entry>.fromOpaque(userData).takeUnretainedValue()
                entry.body(entry.owner, context, arguments)
            }, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw connection.error(
                code, "register the SQL function \(name) for \(connection.path)", cocoaCode: .migration)
        }
    }

    private func convert(_ context: OpaquePointer, _ arguments: UnsafeMutablePointer<OpaquePointer?>) {
        guard let from = AttributeType(rawValue: sqlite3_value_int(arguments[1])),
            let to = AttributeType(rawValue: sqlite3_value_int(arguments[2])),
            let value = PropertyValue(arguments[0], as: from), let converted = from.exactConversion(of: value, to: to),
            converted.isExactInColumn
        else { return sqlite3_result_null(context) }
        converted.setResult(of: context)
    }

    /// Returns a value of an attribute with external storage without its mark, or the content of its backing file.
    private func inline(_ context: OpaquePointer, _ arguments: UnsafeMutablePointer<OpaquePointer?>) {
        let bytes = UnsafeRawBufferPointer(
            start: sqlite3_value_blob(arguments[0]), count: Int(sqlite3_value_bytes(arguments[0])))
        switch bytes.first {
        case nil: sqlite3_result_value(context, arguments[0])
        case ExternalFile.inlineMark:
            cst_sqlite3_result_blob_copy(context, bytes.baseAddress.map { $0 + 1 }, Int32(clamping: bytes.count - 1))
        case ExternalFile.fileMark:
            let name = ExternalFile.name(in: bytes) ?? ""
            let external = ExternalFile.read("\(externalFolder)/\(name)", limits)
            guard case .bytes(let content) = external else {
                failure = unreadable(name, external)
                return sqlite3_result_error(context, "a backing file cannot be read", -1)
            }
            cst_sqlite3_result_blob_copy(context, content.rawBytes.baseAddress, Int32(clamping: content.count))
        default: sqlite3_result_value(context, arguments[0])
        }
    }

    private func unreadable(_ name: String, _ external: ExternalValue) -> CoreError {
        let file = "\(externalFolder)/\(name)"
        let fault: String
        if name.isEmpty {
            fault =
                "a backing file in \(externalFolder) cannot be read: its name in the row is damaged; run corestone check to find the "
                + "object, and set the value to null"
        } else if case .unreadable(_, let problem) = external {
            fault =
                "\(problem)\(problem.hasRemedy ? ", or" : ";") set the value to null (corestone check names the object)"
        } else {
            fault =
                "the backing file \(file) is missing; restore it, or set the value to null (corestone check names the object)"
        }
        return CoreError(.storeIO, code: .migration, fault, file: name.isEmpty ? externalFolder : file)
    }

    private func translate(_ context: OpaquePointer, _ arguments: UnsafeMutablePointer<OpaquePointer?>) {
        guard let known = masks[sqlite3_value_int64(arguments[1])] else {
            return sqlite3_result_value(context, arguments[0])
        }
        let bytes = UnsafeRawBufferPointer(
            start: sqlite3_value_blob(arguments[0]), count: Int(sqlite3_value_bytes(arguments[0])))
        let mask = known.former.translated(Array(bytes), to: known.wanted, by: known.pair)
        mask.withUnsafeBytes { cst_sqlite3_result_blob_copy(context, $0.baseAddress, Int32(clamping: $0.count)) }
    }
}

extension PropertyValue {
    /// Reads a stored value of an attribute type; nil for a value that is invalid for the type.
    fileprivate init?(_ value: OpaquePointer?, as type: AttributeType) {
        let stored = sqlite3_value_type(value)
        func text() -> String? {
            sqlite3_value_text(value).map {
                String(decoding: UnsafeBufferPointer(start: $0, count: Int(sqlite3_value_bytes(value))), as: UTF8.self)
            }
        }
        switch (type, stored) {
        case (_, SQLITE_NULL): self = .null
        case (.boolean, SQLITE_INTEGER): self = .bool(sqlite3_value_int64(value) != 0)
        case (.integer16, SQLITE_INTEGER), (.integer32, SQLITE_INTEGER), (.integer64, SQLITE_INTEGER):
            self = .int(sqlite3_value_int64(value))
        case (.double, SQLITE_INTEGER), (.double, SQLITE_FLOAT), (.float, SQLITE_INTEGER), (.float, SQLITE_FLOAT):
            self = .double(sqlite3_value_double(value))
        case (.date, SQLITE_INTEGER), (.date, SQLITE_FLOAT): self = .date(sqlite3_value_double(value))
        case (.decimal, SQLITE_INTEGER): self = .decimal(DecimalNumber(sqlite3_value_int64(value)))
        case (.decimal, SQLITE_FLOAT):
            guard let number = DecimalNumber(sqlite3_value_double(value)) else { return nil }
            self = .decimal(number)
        case (.decimal, SQLITE_TEXT):
            guard let number = text().flatMap({ try? DecimalNumber($0) }) else { return nil }
            self = .decimal(number)
        case (.string, SQLITE_TEXT): self = .string(text() ?? "")
        case (.uri, SQLITE_TEXT): self = .uri(Text(text() ?? ""))
        case (.uuid, SQLITE_BLOB):
            let bytes = UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))
            guard let uuid = UUIDValue(bytes: bytes) else { return nil }
            self = .uuid(uuid)
        case (.binary, SQLITE_BLOB), (.transformable, SQLITE_BLOB):
            self = .bytes(
                Bytes(
                    Array(
                        UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))
                    )))
        default: return nil
        }
    }

    /// Whether a column stores the value exactly: decimals are stored as integers or doubles.
    fileprivate var isExactInColumn: Bool {
        guard case .decimal(let number) = self, number.integer == nil else { return true }
        return DecimalNumber(number.double) == number
    }

    /// Sets the value in its stored form as the result of an SQL function.
    fileprivate func setResult(of context: OpaquePointer) {
        switch self {
        case .bool(let flag): sqlite3_result_int64(context, flag ? 1 : 0)
        case .int(let number): sqlite3_result_int64(context, number)
        case .double(let number), .date(let number): sqlite3_result_double(context, number)
        case .decimal(let number):
            if let whole = number.integer {
                sqlite3_result_int64(context, whole)
            } else {
                sqlite3_result_double(context, number.double)
            }
        case .text(let text), .uri(let text):
            cst_sqlite3_result_text_copy(
                context, UnsafeRawPointer(text.buffer.start).assumingMemoryBound(to: CChar.self),
                Int32(clamping: text.count))
        case .bytes(let bytes):
            cst_sqlite3_result_blob_copy(context, bytes.rawBytes.baseAddress, Int32(clamping: bytes.count))
        case .uuid(let uuid):
            withUnsafeBytes(of: (uuid.high.bigEndian, uuid.low.bigEndian)) {
                cst_sqlite3_result_blob_copy(context, $0.baseAddress, 16)
            }
        default: sqlite3_result_null(context)
        }
    }
}
