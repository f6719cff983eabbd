import CorestoneModel
import CorestoneValues

/// A change of one object: in one transaction, or between two positions of a history.
public struct ObjectRevision: Sendable {
    /// A value before and after the change; nil if the value is unknown or the object did not exist.
    public struct Value: Sendable {
        public let key: String
        public let old: PropertyValue?
        public let new: PropertyValue?

        package init(key: String, old: PropertyValue?, new: PropertyValue?) {
            (self.key, self.old, self.new) = (key, old, new)
        }
    }

    public let kind: HistoryChangeKind
    public let objectID: ObjectID
    /// The transaction of the change; nil for a difference between two positions.
    public let transaction: HistoryTransaction?
    /// The changed values, in the order of the model.
    ///
    /// An update has the values of the changed properties, an insertion or deletion all known values.
    public let values: [Value]
}

extension ManagedObject {
    /// Returns all changes of the object, with their transactions and properties, oldest first.
    ///
    /// The list is empty for an object that was never saved or that is not in a context.
    ///
    /// - Throws: The errors of `Coordinator.history(of:)`.
    public func history() throws -> [ObjectRevision] {
        guard let context, !objectID.isTemporary else { return [] }
        try context.checkQueue()
        return try context.coordinator.history(of: objectID)
    }
}

extension Coordinator {
    /// The maximum number of attempts to read the changes of an object without an intervening save.
    private static let patience = 20

    /// Returns all changes of an object, with their transactions and properties, oldest first.
    ///
    /// The object may be deleted.
    ///
    /// In a complete history, each change has the values of attributes and to-one relationships before and after it.
    /// Otherwise only the changed properties and the last value of each are known. Changed to-many relationships and
    /// derived attributes are listed without values. Can be called on any thread.
    ///
    /// - Throws: `.invalidArgument` if the store does not have a history or is not open in this coordinator.
    ///   `.storeBusy` if other saves interrupted each attempt.
    public func history(of id: ObjectID) throws -> [ObjectRevision] {
        guard let own = own(id), let store = own.store else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                id.isTemporary
                    ? "\(id.uri) is a temporary ID, which does not have a history; save the object with "
                        + "cst_context_save (save), and pass its permanent ID"
                    : stores.isEmpty
                        ? "cannot read the history of \(id.uri): \(withoutStores)"
                        : "the coordinator does not have the store of \(id.uri); add the store with "
                            + "cst_coordinator_add_store (add_store, addStore)",
                entity: id.entity.name, objectURI: id.uri, file: id.store?.path)
        }
        for _ in 0..<Coordinator.patience {
            let before = try currentHistoryToken(of: [store])
            let values = try knownValues(of: own, store)
            guard let changes = try store.readHistory({ try $0.changes(of: own) }) else { throw store.noHistoryError() }
            if try currentHistoryToken(of: [store]) == before { return ObjectStates(values, changes).revisions() }
        }
        throw CoreError(
            .storeBusy, code: .persistentStoreOperation,
            "cannot read the history of \(id.entity.name) \(id.uri): each of \(Coordinator.patience) attempts was interrupted "
                + "by another save to \(store.path); try again",
            entity: id.entity.name, objectURI: id.uri, file: store.path)
    }
}

extension Coordinator {
    /// Returns the stored values of an object, without those that are unknown in a past.
    ///
    /// Returns nil if the object does not exist.
    private func knownValues(of id: ObjectID, _ store: Store) throws -> [String: PropertyValue]? {
        let values = try store.storedValues(of: [id])[0]
        guard let past else { return values }
        return values?.filter { key, _ in id.entity.property(named: key).map { past.isKnown($0, of: id) } ?? false }
    }
}

/// The former values of an object, reconstructed by undoing its changes from the present values.
private struct ObjectStates {
    /// The known values after a change.
    private var values: [String: PropertyValue]
    private let stored: StoredChanges

    init(_ present: [String: PropertyValue]?, _ stored: StoredChanges) {
        (values, self.stored) = (present ?? [:], stored)
    }

    func revisions() -> [ObjectRevision] {
        var states = self
        return stored.list.reversed().map { states.undo($0) }.reversed()
    }

    private mutating func undo(_ stored: StoredChange) -> ObjectRevision {
        // A migration may have changed every value.
        if stored.change.transaction.number < self.stored.lastMigration { values = [:] }
        let (change, old) = (stored.change, stored.oldValues)
        let entity = change.objectID.entity
        var found: [ObjectRevision.Value] = []
        switch change.kind {
        case .insert:
            for property in entity.valuedProperties {
                if let new = newValue(property, of: change) {
                    found.append(.init(key: property.path, old: nil, new: new))
                }
            }
            values = [:]
        case .update:
            for property in change.updatedProperties.sorted(by: { $0.slot < $1.slot }) {
                guard property.isValued else {
                    found.append(.init(key: property.path, old: nil, new: nil))
                    continue
                }
                let (path, new) = (property.path, newValue(property, of: change))
                // The old values do not include a property that was set to the same value.
                let former = stored.lost.contains(path) ? nil : old.flatMap { $0[path] ?? new }
                found.append(.init(key: path, old: former, new: new))
                values[path] = former
            }
            for (key, value) in old ?? [:] { values[key] = value }
            for key in stored.lost { values[key] = nil }
        case .delete:
            values = [:]
            for property in entity.valuedProperties where !stored.lost.contains(property.path) {
                let value = old.map { $0[property.path] ?? .null } ?? change.tombstone?[property.path]
                guard let value else { continue }
                values[property.path] = value
                found.append(.init(key: property.path, old: value, new: nil))
            }
        }
        return ObjectRevision(
            kind: change.kind, objectID: change.objectID, transaction: change.transaction, values: found)
    }

    /// Returns the value after a change; nil if it is unknown.
    ///
    /// A null reference may be unknown, because a later deletion of its target clears it without a change of this
    /// object in the history.
    private func newValue(_ property: Property, of change: HistoryChange) -> PropertyValue? {
        guard let value = values[property.path] else { return nil }
        let isKept = change.transaction.number.addingClamped(1) >= stored.completeFrom
        return value.isNull && property is Relationship && !isKept ? nil : value
    }
}

extension Property {
    /// Whether changes of an object contain values of the property.
    ///
    /// They do not contain values of to-many relationships, whose members are values of other objects. They do not
    /// contain values of derived attributes, which change without a change of their object.
    fileprivate var isValued: Bool {
        if isTransient { return false }
        if let attribute = self as? Attribute { return attribute.type != .composite && attribute.derivation == nil }
        return (self as? Relationship).map { !$0.isToMany } ?? false
    }
}

extension Entity {
    fileprivate var valuedProperties: [Property] { properties.filter(\.isValued) }
}
