import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The objects of an entity by the values of some attributes, or by URI, as an import finds them.
///
/// Objects of the store are fetched for many keys at a time. Unsaved objects of the context are indexed once, and then
/// when the import changes them, because a fetch would compare all of them again for each key.
final class ArrowObjectIndex {
    typealias Key = ArrowRelationship.Key

    private struct Entry {
        var objects = ObjectList()
        /// Whether the objects of the store are included.
        var isComplete = false
    }

    private let context: Context
    let entity: Entity
    /// The attributes of the keys; empty for URIs.
    private let attributes: [Attribute]
    private var entries: [Key: Entry] = [:]

    /// The number of keys of several attributes that one fetch finds. SQL limits the depth of its condition.
    private static let mostConditions = 200

    init(_ entity: Entity, _ attributes: [Attribute], in context: Context) throws {
        (self.context, self.entity, self.attributes) = (context, entity, attributes)
        if attributes.isEmpty { return }
        for object in context.changeTracker.inserted { try note(object) }
        for object in context.changeTracker.updated { try note(object) }
    }

    /// Adds an object under its current values. Has no effect for a listed object and for one of another entity.
    func note(_ object: ManagedObject) throws {
        guard !attributes.isEmpty, object.entity.isKind(of: entity), !object.isDeleted, !object.isGone else { return }
        add(object, Key(values: try attributes.map { try object.propertyValue(of: $0) }))
    }

    private func add(_ object: ManagedObject, _ key: Key) {
        _ = entries[key, default: Entry()].objects.append(object)
    }

    /// Fetches the objects of these keys that are not indexed yet.
    func prepare(_ keys: Set<Key>) throws {
        let missing = keys.filter { entries[$0]?.isComplete != true }
        if missing.isEmpty { return }
        if attributes.isEmpty {
            try loadObjects(missing)
        } else if attributes.count == 1 {
            try fetch(
                .comparison(
                    Comparison(
                        .key(attributes[0].path), .in, .constant(.array(missing.map { $0.values[0] })))))
        } else {
            let all = Array(missing)
            for start in stride(from: 0, to: all.count, by: ArrowObjectIndex.mostConditions) {
                let some = all[start..<min(start + ArrowObjectIndex.mostConditions, all.count)]
                try fetch(try .or(some.map(condition)))
            }
        }
        for key in missing { entries[key, default: Entry()].isComplete = true }
    }

    private func condition(_ key: Key) throws -> Predicate {
        try .and(
            zip(attributes, key.values).map { .comparison(Comparison(.key($0.path), .equal, .constant($1))) })
    }

    private func fetch(_ predicate: Predicate) throws {
        let request = FetchRequest(entity: entity, predicate: predicate)
        request.includesPendingChanges = false
        // A registered object may have older values, with which it would not be found.
        request.shouldRefreshRefetchedObjects = true
        var changed: [ManagedObject] = []
        for object in try context.fetch(request) {
            try note(object)
            if object.hasChanges, !object.isDeleted { changed.append(object) }
        }
        try noteRows(of: changed)
    }

    /// Adds changed objects under the values of their newest rows, because a refresh does not apply to them.
    ///
    /// Objects whose own changes include the key are left out.
    private func noteRows(of objects: [ManagedObject]) throws {
        if context.parent != nil { return }
        let objects = objects.filter { object in !attributes.contains { object.isChanged($0) } }
        for (store, objects) in context.faultLoader.byStore(objects) {
            let batch = try context.objectRefresh.rows(of: entity.root, objects.map(\.primaryKey), in: store)
            let records = Dictionary(batch.records.map { ($0.primaryKey, $0) }) { first, _ in first }
            try withExtendedLifetime(batch.chunks) {
                for object in objects {
                    guard let record = records[object.primaryKey], record.version != object.version else { continue }
                    let values = attributes.map { attribute in
                        record.view(Int(attribute.slot), object.entity.layout.slots[Int(attribute.slot)]).propertyValue
                    }
                    add(object, Key(values: values))
                }
            }
        }
    }

    /// Finds objects by URI. Those whose rows are not loaded are loaded together.
    private func loadObjects(_ keys: Set<Key>) throws {
        var found: [(Key, ObjectID)] = []
        for key in keys {
            guard case .text(let uri) = key.values[0] else { continue }
            if let id = try context.coordinator.objectID(forURI: uri.string) { found.append((key, id)) }
        }
        try context.faultLoader.loadRows(of: found.map { try context.object(with: $0.1) })
        for (key, id) in found {
            if let object = try context.storedObject(with: id), object.entity.isKind(of: entity) { add(object, key) }
        }
        // The URI of an unsaved object is temporary.
        if found.count == keys.count { return }
        for object in context.changeTracker.inserted where object.entity.isKind(of: entity) {
            let key = Key(values: [.string(object.objectID.uri)])
            if keys.contains(key) { add(object, key) }
        }
    }

    /// Returns the objects that have the key now, or two of them. `prepare` must have been called with the key.
    func objects(_ key: Key) throws -> [ManagedObject] {
        var found: [ManagedObject] = []
        for object in entries[key]?.objects.objects ?? [] where !object.isDeleted && !object.isGone {
            if try hasKey(object, key) { found.append(object) }
            if found.count == 2 { break }
        }
        return found
    }

    /// Whether a listed object still has the key. The import, or a callback, may have changed the object.
    private func hasKey(_ object: ManagedObject, _ key: Key) throws -> Bool {
        guard object.hasChanges else { return true }
        for (attribute, value) in zip(attributes, key.values) where object.isChanged(attribute) {
            if try object.propertyValue(of: attribute) != value { return false }
        }
        return true
    }
}

extension ManagedObject {
    /// Returns the value of an attribute that is not composite.
    func propertyValue(of attribute: Attribute) throws -> PropertyValue {
        try view(key: attribute.key).propertyValue
    }

    /// Whether an attribute that is not composite has an unsaved value.
    fileprivate func isChanged(_ attribute: Attribute) -> Bool {
        state.contains(.inserted) || overlay?.isChanged(Int(attribute.slot)) == true
    }
}
