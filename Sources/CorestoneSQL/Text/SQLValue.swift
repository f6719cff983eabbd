import CorestoneValues

/// A value that is bound to a statement, in one of SQLite's storage classes.
package enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(Text)
    case blob(Bytes)
}

extension SQLValue {
    /// Converts a value to its stored form; nil for objects and collections.
    ///
    /// Booleans and integers become integers, dates become seconds since 2001-01-01 UTC, and UUIDs become 16 bytes.
    /// Whole decimals of at most 64 bits become integers, others reals. The target of a relationship can need a second
    /// column, for its entity. Collections are not stored in columns.
    package init?(_ value: PropertyValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .integer(flag ? 1 : 0)
        case .int(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .decimal(let number):
            let whole = Int64(exactly: number.double)
            let isExact = whole.map { DecimalNumber.compare(DecimalNumber($0), number) == 0 } ?? false
            self = isExact ? .integer(whole ?? 0) : .real(number.double)
        case .text(let text), .uri(let text): self = .text(text)
        case .bytes(let bytes): self = .blob(bytes)
        case .date(let seconds): self = .real(seconds)
        case .uuid(let uuid):
            let bytes = [uuid.high, uuid.low].flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
            }
            self = .blob(Bytes(bytes))
        case .object, .array, .set, .dictionary: return nil
        }
    }
}
