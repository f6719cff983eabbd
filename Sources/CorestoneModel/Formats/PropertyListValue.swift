import CorestoneValues

/// What a property list holds.
public enum PropertyListValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Only for what is too large for `integer`.
    case unsigned(UInt64)
    case real(Double)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data([UInt8])
    case string(String)
    /// A reference into the objects of a keyed archive.
    case uid(UInt32)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
}

extension PropertyListValue {
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var data: [UInt8]? { if case .data(let value) = self { value } else { nil } }
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    public var array: [PropertyListValue]? { if case .array(let value) = self { value } else { nil } }
    public var dictionary: [String: PropertyListValue]? { if case .dictionary(let value) = self { value } else { nil } }
    public var reference: UInt32? { if case .uid(let value) = self { value } else { nil } }
    /// As Cocoa reads a flag: a boolean, or a number other than 0.
    public var flag: Bool {
        switch self {
        case .bool(let value): value
        case .integer(let value): value != 0
        default: false
        }
    }
}

/// What a reader of foreign bytes accepts; whatever goes beyond is refused before memory is spent on it.
public struct PropertyListLimits: Sendable {
    /// Containers within containers.
    public var depth = 128
    /// Values in all, counting a shared one each time it is referred to.
    public var count = 4_000_000
    /// The size of the file in bytes.
    public var size = 256 << 20
    /// Refuses text that is not what its marker says and a key that comes twice, where others would mend the one and take the last
    /// of the other.
    package var isStrict = false

    public init() {}

    /// What models are read with.
    package static var model: PropertyListLimits {
        var limits = PropertyListLimits()
        limits.size = Model.maximumFileSize
        return limits
    }
}

/// Names in the order of their UTF-8 bytes, which is "case-sensitive name order" of the formats.
package func sortedByBytes(_ names: some Sequence<String>) -> [String] {
    names.map { Text($0) }.sorted().map(\.string)
}
