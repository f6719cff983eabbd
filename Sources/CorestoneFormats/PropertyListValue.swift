import CorestoneValues

/// A value of a property list.
public enum PropertyListValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// An integer that is too large for `integer`.
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
    /// Whether the value is a true Boolean or an `integer` other than 0, as Cocoa reads a flag.
    public var flag: Bool {
        switch self {
        case .bool(let value): value
        case .integer(let value): value != 0
        default: false
        }
    }
}

/// The limits of a reader of untrusted bytes. Data that exceeds a limit is rejected.
public struct PropertyListLimits: Sendable {
    /// The maximum number of nested containers.
    public var depth = 128
    /// The maximum number of values in total, counting shared values at each reference.
    public var count = 4_000_000
    /// The maximum size of the file in bytes.
    public var size = 256 << 20
    /// Whether to reject newer versions of the format, text that does not match its marker, and duplicate keys.
    ///
    /// Otherwise, newer versions are read, such text is repaired, and the last value of a key is used.
    package var isStrict = false

    public init() {}

    /// The largest size of a model or an archive in bytes.
    public static let modelSize = 64 << 20
    /// The limits for models and archives.
    package static var model: PropertyListLimits {
        var limits = PropertyListLimits()
        limits.size = modelSize
        return limits
    }
}
