import CorestoneValues
import Synchronization

/// One key of a key path.
///
/// The type is a class, so that objects can cache their lookup of the key.
public final class KeyName: Hashable, Sendable {
    public let text: String
    /// The operator of `@count`, `@sum` and the other collection operators; nil for other keys.
    public let collectionOperator: CollectionOperator?
    /// A cache for the object that looks the key up: 0 is empty; the object defines all other values.
    ///
    /// Managed objects store the slot of the property, so that they do not look the name up again.
    package let hint = Atomic<UInt64>(0)

    public init(_ text: String) {
        self.text = text
        collectionOperator = text.utf8.first == UInt8(ascii: "@") ? CollectionOperator(rawValue: text) : nil
    }

    /// Whether the key applies to a collection as a whole, not to its elements.
    public var isOperator: Bool { text.utf8.first == UInt8(ascii: "@") }

    public static func == (a: KeyName, b: KeyName) -> Bool { a === b || a.text == b.text }
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// A sequence of keys, parsed once.
public struct KeyPath: Hashable, Sendable {
    /// The keys, at least one.
    public let keys: [KeyName]

    /// Parses a key path.
    ///
    /// - Parameter text: keys joined by dots, without escapes.
    public init(_ text: String) {
        keys = text.split(separator: ".", omittingEmptySubsequences: false).map { KeyName(String($0)) }
    }

    public init(keys: [KeyName]) { self.keys = keys }

    /// The keys joined by dots.
    public var text: String { keys.map(\.text).joined(separator: ".") }

    /// The key of a path with a single key; otherwise nil.
    public var single: KeyName? { keys.count == 1 ? keys[0] : nil }

    public func appending(_ key: KeyName) -> KeyPath { KeyPath(keys: keys + [key]) }
    public func appending(_ path: KeyPath) -> KeyPath { KeyPath(keys: keys + path.keys) }
}

extension KeyPath: CustomStringConvertible {
    public var description: String { text }
}

/// The operators on collections. The raw value is the key.
public enum CollectionOperator: String, Sendable, CaseIterable {
    case count = "@count"
    case sum = "@sum"
    case average = "@avg"
    case minimum = "@min"
    case maximum = "@max"
    case unionOfObjects = "@unionOfObjects"
    case distinctUnionOfObjects = "@distinctUnionOfObjects"
    case unionOfArrays = "@unionOfArrays"
    case distinctUnionOfArrays = "@distinctUnionOfArrays"
    case distinctUnionOfSets = "@distinctUnionOfSets"
}
