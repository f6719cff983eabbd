import CFFI
import CorestoneValues

/// A C type of a parameter or result of a host's function.
///
/// The raw value is its letter in a signature, as in Python's struct.
enum ForeignType: UInt8, Sendable {
    case bool = 0x3F  // ?
    case int8 = 0x62  // b
    case uint8 = 0x42  // B
    case int16 = 0x68  // h
    case uint16 = 0x48  // H
    case int32 = 0x69  // i
    case uint32 = 0x49  // I
    case int64 = 0x71  // q
    case uint64 = 0x51  // Q
    case float = 0x66  // f
    case double = 0x64  // d
    case text = 0x73  // s
    case value = 0x76  // v
    case object = 0x6F  // o

    /// The names of the types in C, for signatures and messages.
    private static let spellings: [(name: String, type: ForeignType)] = [
        ("bool", .bool), ("_Bool", .bool), ("int8_t", .int8), ("signed char", .int8), ("char", .int8),
        ("uint8_t", .uint8), ("unsigned char", .uint8), ("int16_t", .int16), ("short", .int16),
        ("uint16_t", .uint16), ("unsigned short", .uint16), ("int32_t", .int32), ("int", .int32),
        ("uint32_t", .uint32), ("unsigned", .uint32), ("unsigned int", .uint32), ("int64_t", .int64),
        ("long", .int64), ("long long", .int64), ("uint64_t", .uint64), ("unsigned long", .uint64),
        ("unsigned long long", .uint64), ("size_t", .uint64), ("float", .float), ("double", .double),
        ("const char *", .text), ("const char*", .text), ("cst_value", .value), ("cst_object *", .object),
        ("cst_object*", .object), ("const cst_object *", .object),
    ]

    init?(spelling: String) {
        if let letter = spelling.utf8.first, spelling.utf8.count == 1 {
            self.init(rawValue: letter)
        } else if let known = ForeignType.spellings.first(where: { $0.name == spelling }) {
            self = known.type
        } else {
            return nil
        }
    }

    var name: String { ForeignType.spellings.first { $0.type == self }?.name ?? "" }

    /// Whether the C type can represent nil.
    var hasNil: Bool { self == .text || self == .value || self == .object }

    var foreign: UnsafeMutablePointer<ffi_type>? {
        self == .value ? AccessorType.value.foreign : corestone_ffi_type(CChar(bitPattern: rawValue))
    }
}

/// The parameter types and the result type of a function: `double(double, double)`, or `d(dd)`.
struct ForeignSignature: Sendable {
    static let maximumParameters = 32

    let result: ForeignType
    let parameters: [ForeignType]

    /// Parses a signature.
    ///
    /// - Throws: `.invalidArgument` with the byte offset of the error.
    init(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard let open = bytes.firstIndex(of: UInt8(ascii: "(")) else {
            throw ForeignSignature.mistake(text, bytes.count, "it does not have an opening parenthesis")
        }
        guard bytes.last == UInt8(ascii: ")") else {
            throw ForeignSignature.mistake(text, bytes.count, "it does not end with a closing parenthesis")
        }
        result = try ForeignSignature.type(bytes[..<open], text)
        let inside = bytes[(open + 1)...].dropLast()
        let isSpelt = inside.contains(UInt8(ascii: ",")) || ForeignSignature.word(inside).utf8.count > 1
        let word = ForeignSignature.word(inside)
        if word.isEmpty || word == "void" {
            parameters = []
        } else if isSpelt, let parts = ForeignSignature.spelt(inside) {
            parameters = try parts.map { try ForeignSignature.type($0, text) }
        } else {
            parameters = try inside.indices.filter { inside[$0] != UInt8(ascii: " ") }
                .map { try ForeignSignature.type(inside[$0...$0], text) }
        }
        guard parameters.count <= ForeignSignature.maximumParameters else {
            throw ForeignSignature.mistake(
                text, open,
                "it has \(parameters.count) parameters, but the limit is \(ForeignSignature.maximumParameters)",
                remedy: "register the function with cst_function_register (register_function without a signature) "
                    + "instead")
        }
    }

    /// Returns the parts between commas if the parameters are written as C types; nil if they are letters.
    private static func spelt(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        let parts = bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        if parts.count > 1 || ForeignType(spelling: word(bytes)) != nil { return parts }
        return bytes.allSatisfy { $0 == UInt8(ascii: " ") || ForeignType(rawValue: $0) != nil } ? nil : parts
    }

    private static func type(_ bytes: ArraySlice<UInt8>, _ text: String) throws -> ForeignType {
        let word = word(bytes)
        if let type = ForeignType(spelling: word) { return type }
        let offset = bytes.firstIndex { $0 != UInt8(ascii: " ") } ?? bytes.startIndex
        if word.isEmpty { throw mistake(text, offset, "a type is missing") }
        throw mistake(
            text, offset, "\"\(word)\" is not a supported type",
            remedy: "use the types of cst_function_register_typed (register_function), as in double(double, int64_t) "
                + "or d(dq)")
    }

    /// Returns the text without surrounding spaces, and with single spaces.
    private static func word(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }

    private static func mistake(
        _ text: String, _ offset: Int, _ problem: String,
        remedy: String = "write C types as in double(double, int64_t), or their letters as in d(dq)"
    ) -> CoreError {
        CoreError(
            .invalidArgument, "cannot read the signature \"\(text)\" at byte \(offset): \(problem); \(remedy)",
            key: "signature", value: .string(text), offset: offset)
    }
}
