import CorestoneModel
import CorestoneValues
import Synchronization

/// The identity of an object: store, entity and reference. A value; may cross threads.
///
/// Temporary until the object is first saved. Equal when they stand for the same row.
public struct ObjectID: Sendable {
    /// nil while temporary.
    package let store: Store?
    public let entity: Entity
    /// The primary key; below zero while temporary, unique within the process.
    package let reference: Int64

    package init(store: Store?, entity: Entity, reference: Int64) {
        self.store = store
        self.entity = entity
        self.reference = reference
    }

    public var isTemporary: Bool { reference < 0 }

    /// `x-coredata://<store UUID>/<Entity>/p<key>`, with the reference, escaped, in a store of a host's own kind, or
    /// `x-coredata:///<Entity>/t<UUID>` while temporary.
    public var uri: String {
        if isTemporary { return "x-coredata:///\(entity.name)/t\(TemporaryReference.uuid(reference))" }
        guard let store else { return ObjectID.uri(ofKey: reference, entity: entity.name, store: "") }
        return ObjectID.uri(ofKey: reference, entity: entity, in: store.references, store: store.identifier)
    }

    /// - Parameter references: of a store whose rows have references instead of keys.
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

/// References of objects that were never saved: numbers below zero that the process never uses twice.
enum TemporaryReference {
    private static let last = Atomic<Int64>(0)
    /// The head of every temporary UUID of this process.
    private static let process = UUIDValue.random()

    static func next() -> Int64 {
        last.subtract(1, ordering: .relaxed).newValue
    }

    static func uuid(_ reference: Int64) -> String {
        UUIDValue(high: process.high, low: process.low ^ UInt64(bitPattern: reference)).description
    }
}

/// What a permanent URI names.
struct ObjectIDParts {
    private static let scheme = "x-coredata://"
    let store: String
    let entity: String
    /// As it is written, without the `p`.
    let reference: Substring

    /// nil for what is no such URI.
    init?(uri: String) {
        // The reference of a host's store may have slashes of its own.
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
