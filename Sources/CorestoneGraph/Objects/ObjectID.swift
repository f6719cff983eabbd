import CorestoneModel
import CorestoneValues
import Synchronization

/// The identity of an object: store, entity and reference.
///
/// An object has a temporary ID until it is first saved or a permanent ID is obtained. Two IDs are equal if they
/// identify the same row, or the same unsaved object. Can be used on any thread.
public struct ObjectID: Sendable {
    /// The store; nil while the ID is temporary.
    package let store: Store?
    public let entity: Entity
    /// The primary key; negative while temporary, and then unique within the process.
    package let reference: Int64

    package init(store: Store?, entity: Entity, reference: Int64) {
        self.store = store
        self.entity = entity
        self.reference = reference
    }

    public var isTemporary: Bool { reference < 0 }

    /// The store with the object's row; nil while the ID is temporary.
    public var persistentStore: Store? { isTemporary ? nil : store }

    /// The URI: `x-coredata://<store UUID>/<Entity>/p<key>`.
    ///
    /// The URI of a temporary ID is `x-coredata:///<Entity>/t<UUID>`. In a custom store with references, the escaped
    /// reference replaces the key.
    public var uri: String {
        if isTemporary { return "x-coredata:///\(entity.name)/t\(TemporaryReference.uuid(reference))" }
        guard let store else { return ObjectID.uri(ofKey: reference, entity: entity.name, store: "") }
        return ObjectID.uri(ofKey: reference, entity: entity, in: store.references, store: store.identifier)
    }

    /// Returns the URI of a row.
    ///
    /// - Parameter references: The reference table of a store whose rows have references; nil for other stores.
    package static func uri(
        ofKey key: Int64, entity: Entity, in references: ReferenceTable?, store: String
    ) -> String {
        guard let references else { return uri(ofKey: key, entity: entity.name, store: store) }
        return "x-coredata://\(store)/\(entity.name)/p\(references.reference(of: key, entity.root).uriText)"
    }

    package static func uri(ofKey key: Int64, entity: String, store: String) -> String {
        "x-coredata://\(store)/\(entity)/p\(key)"
    }
}

extension ObjectID: Hashable {
    public static func == (a: ObjectID, b: ObjectID) -> Bool {
        a.reference == b.reference
            && (a.store === b.store
                ? a.entity.root === b.entity.root
                : a.store?.identifier == b.store?.identifier && a.entity.isOfTree(of: b.entity))
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(reference) }
}

extension ObjectID: CustomStringConvertible {
    public var description: String { uri }
}

/// An object ID as a value of predicates and errors.
public final class ObjectIDReference: ValueObject, Sendable {
    public let id: ObjectID

    public init(_ id: ObjectID) { self.id = id }

    public func isEqual(to other: any ValueObject) -> Bool {
        if let other = other as? ObjectIDReference { return id == other.id }
        if let other = other as? ManagedObject { return id == other.objectID }
        if let row = other as? StoredRow { return row.isRow(of: id) }
        let original = other.original
        return original !== other && isEqual(to: original)
    }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(id) }
    public var valueDescription: String { id.uri }
}

/// The references of objects that were never saved: negative numbers that the process does not reuse.
enum TemporaryReference {
    private static let last = Atomic<Int64>(0)
    /// The common part of all temporary UUIDs of this process.
    private static let process = UUIDValue.random()

    static func next() -> Int64 {
        last.subtract(1, ordering: .relaxed).newValue
    }

    static func uuid(_ reference: Int64) -> String {
        UUIDValue(high: process.high, low: process.low ^ UInt64(bitPattern: reference)).description
    }
}

/// The parts of a permanent object URI.
struct ObjectIDParts {
    private static let scheme = "x-coredata://"
    let store: String
    let entity: String
    /// The text of the reference, without the `p`.
    let reference: Substring

    /// Parses a URI; nil if it is not a permanent object URI.
    init?(uri: String) {
        // The reference of a custom store may contain slashes.
        let parts = uri.utf8.dropFirst(ObjectIDParts.scheme.utf8.count).split(
            separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard uri.utf8.starts(with: ObjectIDParts.scheme.utf8), parts.count == 3, !parts[0].isEmpty,
            parts[2].first == UInt8(ascii: "p"), parts[2].count > 1
        else { return nil }
        store = String(Substring(parts[0]))
        entity = String(Substring(parts[1]))
        reference = Substring(parts[2].dropFirst())
    }
}
