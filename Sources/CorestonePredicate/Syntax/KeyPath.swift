import CorestoneValues
import Synchronization

/// One key of a key path.
///
/// A class, so that the objects that are asked for it can leave a note for the next time.
public final class KeyName: Hashable, Sendable {
    public let text: String
    /// Set for `@count`, `@sum` and the other operators on collections.
    public let collectionOperator: CollectionOperator?
    /// What the last object that was asked by this key wanted to remember: 0 is nothing, all else is its own business.
    /// Managed objects keep the property's slot here, so that names are looked up once.
    package let hint = Atomic<UInt64>(0)

    public init(_ text: String) {
        self.text = text
        collectionOperator = text.utf8.first == UInt8(ascii: "@") ? CollectionOperator(rawValue: text) : nil
    }

    /// Whether it asks a collection as a whole, not its elements.
    public var isOperator: Bool { text.utf8.first == UInt8(ascii: "@") }

    public static func == (a: KeyName, b: KeyName) -> Bool { a === b || a.text == b.text }
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// Keys to follow one after the other; split once, when the path is made.
public struct KeyPath: Hashable, Sendable {
    /// At least one.
    public let keys: [KeyName]

    /// - Parameter text: keys joined by dots. Nothing is unescaped.
    public init(_ text: String) {
        keys = text.split(separator: ".", omittingEmptySubsequences: false).map { KeyName(String($0)) }
    }

    public init(keys: [KeyName]) { self.keys = keys }

    /// The keys joined by dots.
    public var text: String { keys.map(\.text).joined(separator: ".") }

    /// The key, when it is the only one.
    public var single: KeyName? { keys.count == 1 ? keys[0] : nil }

    public func appending(_ key: KeyName) -> KeyPath { KeyPath(keys: keys + [key]) }
    public func appending(_ path: KeyPath) -> KeyPath { KeyPath(keys: keys + path.keys) }
}

extension KeyPath: CustomStringConvertible {
    public var description: String { text }
}

/// What a key beginning with `@` computes from a collection. The raw value is the key.
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
