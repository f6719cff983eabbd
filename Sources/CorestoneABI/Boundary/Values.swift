import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Writes a view as a `cst_value`. Both have the same layout, except that a to-one target is a token in a `cst_value`.
@inline(__always)
func put(_ view: ValueView, _ out: UnsafeMutablePointer<cst_value>) {
    let raw = UnsafeMutableRawPointer(out)
    raw.storeBytes(of: view.type.rawValue, as: UInt32.self)
    raw.storeBytes(of: view.aux, toByteOffset: 4, as: UInt32.self)
    raw.storeBytes(of: view.low, toByteOffset: 8, as: UInt64.self)
    raw.storeBytes(of: view.high, toByteOffset: 16, as: UInt64.self)
}

/// Writes a null value, so that the output is defined even if the call fails.
@inline(__always)
func putNull(_ out: UnsafeMutablePointer<cst_value>) { put(.null, out) }

/// Returns a copy of the host's value, after checking it.
///
/// A `CST_OBJECT` must contain a valid handle. A `CST_OBJECT_ID` is converted to a reference.
func propertyValue(_ value: cst_value) throws -> PropertyValue {
    switch Int(value.type) {
    case CST_NULL: return .null
    case CST_BOOL:
        // The host may have stored any byte, but a Swift Bool must be 0 or 1.
        return .bool(withUnsafeBytes(of: value.as) { $0[0] != 0 })
    case CST_INT: return .int(value.as.integer)
    case CST_DOUBLE: return .double(value.as.real)
    case CST_DATE: return .date(value.as.date)
    case CST_STRING: return try value.as.string.utf8("the string").map { .text(Text(utf8: $0)) } ?? .null
    case CST_URI: return try value.as.string.utf8("the URI").map { .uri(Text(utf8: $0)) } ?? .null
    case CST_BYTES: return try bytes(value.as.bytes)
    case CST_UUID:
        return withUnsafeBytes(of: value.as) {
            .uuid(
                UUIDValue(
                    high: $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self).bigEndian,
                    low: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian))
        }
    case CST_DECIMAL: return try decimal(value)
    case CST_OBJECT: return .object(try argument(value.as.object))
    case CST_OBJECT_ID:
        return .object(ObjectIDReference(try resolve(value.as.object_id, .objectID, as: ObjectIDBox.self).id))
    case CST_HISTORY_TOKEN: return .object(HistoryTokenValue(try historyToken(value.as.history_token)))
    default: throw unsuitable(value.type)
    }
}

/// Reads a value of the host for a property. An error names the property.
@inline(__always)
func naming<Result>(
    _ entity: @autoclosure () -> String?, _ key: @autoclosure () -> String?, _ read: () throws -> Result
) throws -> Result {
    do { return try read() } catch let error as CoreError { throw error.named(entity(), key()) }
}

/// The names of the constants of `cst_type`, by value.
private let typeNames = [
    "CST_NULL", "CST_BOOL", "CST_INT", "CST_DOUBLE", "CST_DECIMAL", "CST_STRING", "CST_BYTES", "CST_DATE", "CST_UUID",
    "CST_OBJECT", "CST_OBJECT_ID", "CST_URI", "CST_ARRAY", "CST_SET", "CST_DICTIONARY", "CST_HOST", "CST_EXPRESSION",
    "CST_DEFAULT", "CST_HISTORY_TOKEN",
]

/// Returns the name of a type's constant, for errors; the number of an unknown type.
func typeName(_ type: cst_type) -> String { Int(type) < typeNames.count ? typeNames[Int(type)] : "\(type)" }

private func unsuitable(_ type: cst_type) -> CoreError {
    let complaint =
        Int(type) < typeNames.count
        ? "\(typeName(type)) is not a type of property values" : "\(type) is not a cst_type"
    return CoreError(
        .invalidArgument, "\(complaint); use a type from CST_NULL to CST_URI", value: .int(Int64(type)))
}

private func bytes(_ bytes: cst_bytes) throws -> PropertyValue {
    guard let data = bytes.data else {
        guard bytes.size == 0 else {
            throw CoreError(
                .invalidArgument,
                "a value of type CST_BYTES is NULL but has the size \(UInt(bitPattern: bytes.size)); pass its bytes, "
                    + "or the size 0", value: sizeValue(bytes.size))
        }
        return .null
    }
    guard bytes.size >= 0, bytes.size < Int(Int32.max) else {
        throw CoreError(
            .invalidArgument,
            "a value of type CST_BYTES has \(UInt(bitPattern: bytes.size)) bytes, but the limit is 2147483646",
            value: sizeValue(bytes.size))
    }
    return .bytes(Bytes(copying: UnsafeRawBufferPointer(start: data, count: bytes.size)))
}

private func decimal(_ value: cst_value) throws -> PropertyValue {
    let words = value.as.decimal.mantissa
    let number = DecimalNumber(words: (words.0, words.1), aux: value.aux)
    guard value.aux & ~0x1FF == 0 else {
        throw CoreError(
            .invalidArgument,
            "aux of the decimal is 0x\(String(value.aux, radix: 16)), but must be 0 to 0x1ff; set it with "
                + "CST_DECIMAL_AUX", value: .int(Int64(value.aux)))
    }
    guard number.mantissa < 100_000_000_000_000_000_000_000_000_000_000_000_000 else {
        throw CoreError(
            .invalidArgument,
            "the mantissa of the decimal is \(number.mantissa), but must have at most 38 digits; round the decimal",
            value: .decimal(number))
    }
    return .decimal(number)
}
