import CCorestone

typealias Handle = OpaquePointer
typealias ErrorSlot = UnsafeMutablePointer<Handle?>

/// Constructors of values that own no memory.
extension cst_value {
    private init(_ type: Int, _ fill: (inout cst_value) -> Void) {
        self.init()
        self.type = cst_type(type)
        fill(&self)
    }

    static func bool(_ flag: Bool) -> cst_value { cst_value(CST_BOOL) { $0.as.boolean = flag } }
    static func double(_ number: Double) -> cst_value { cst_value(CST_DOUBLE) { $0.as.real = number } }
    static func date(_ seconds: Double) -> cst_value { cst_value(CST_DATE) { $0.as.date = seconds } }
    static func objectID(_ handle: Handle?) -> cst_value { cst_value(CST_OBJECT_ID) { $0.as.object_id = handle } }

    static func uuid(_ bytes: [UInt8]) -> cst_value {
        cst_value(CST_UUID) { value in withUnsafeMutableBytes(of: &value.as) { $0.copyBytes(from: bytes.prefix(16)) } }
    }

    /// A value of any type code, followed by 16 bytes of the same bits.
    static func raw(_ type: UInt32, filledWith byte: UInt8 = 0) -> cst_value {
        var value = cst_value()
        withUnsafeMutableBytes(of: &value) { for place in 8..<24 { $0[place] = byte } }
        value.type = type
        return value
    }

    var uuidBytes: [UInt8] { withUnsafeBytes(of: self) { Array($0[8..<24]) } }
    var isNull: Bool { type == cst_type(CST_NULL) }
    var isTrue: Bool { withUnsafeBytes(of: self) { $0[8] == 1 } }
    /// The text of a string or URI value; nil for values of other types.
    var text: String? {
        type == cst_type(CST_STRING) || type == cst_type(CST_URI) ? self.as.string.swift : nil
    }
    var data: [UInt8]? {
        guard type == cst_type(CST_BYTES) else { return nil }
        return Array(UnsafeBufferPointer(start: self.as.bytes.data, count: self.as.bytes.size))
    }
    var integer: Int64? { type == cst_type(CST_INT) ? self.as.integer : nil }
    var real: Double? { type == cst_type(CST_DOUBLE) ? self.as.real : nil }
    var target: Handle? { type == cst_type(CST_OBJECT) ? self.as.object : nil }
}

extension cst_string {
    static var null: cst_string { cst_string(data: nil, size: 0) }

    /// The text; nil for a null string. Views are NUL-terminated, which tests rely on.
    var swift: String? {
        guard let data else { return nil }
        precondition(data[size] == 0, "a view of text must end with NUL")
        return String(decoding: UnsafeRawBufferPointer(start: data, count: size), as: UTF8.self)
    }
}

extension cst_buffer {
    var text: String? {
        guard let data else { return nil }
        return String(decoding: UnsafeRawBufferPointer(start: data, count: size), as: UTF8.self)
    }
}

/// All fields of an error handle.
struct Problem {
    var status: cst_status = 0
    var code: Int64 = 0
    var domain: String?
    var message = ""
    var entity, key, objectURI, file: String?
    var sqliteCode: Int32 = 0
    var offset: Int64 = -1
    var details: [Problem] = []
    var valueStatus: cst_status = 0
    var valueType: cst_type = 0
    var valueInteger: Int64?
    var valueText: String?

    /// Reads an error; does not release it.
    init(_ error: Handle?) {
        status = cst_error_status(error)
        code = cst_error_code(error)
        domain = cst_error_domain(error).swift
        message = cst_error_message(error).swift ?? ""
        entity = cst_error_entity(error).swift
        key = cst_error_key(error).swift
        objectURI = cst_error_object_uri(error).swift
        file = cst_error_file(error).swift
        sqliteCode = cst_error_sqlite_code(error)
        offset = cst_error_offset(error)
        details = (0..<cst_error_detail_count(error)).map { Problem(cst_error_detail_at(error, $0)) }
        var value = cst_value()
        valueStatus = cst_error_value(error, &value)
        valueType = value.type
        valueInteger = value.integer
        valueText = value.text
    }
}
