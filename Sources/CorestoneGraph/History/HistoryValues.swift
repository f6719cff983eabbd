import CorestoneModel
import CorestoneValues

extension HistoryTransaction {
    /// Returns the present values of the changed objects, in the order of the changes.
    ///
    /// An entry contains all stored properties of an inserted object, or the changed properties of an updated object.
    /// It is nil for a deletion, and for an object that was deleted later.
    ///
    /// The values are read from the store and may be newer than the transaction. The value of a to-one relationship is
    /// an object ID, and the value of a to-many relationship is an array of object IDs.
    public func currentValues() throws -> [[String: PropertyValue]?] {
        let changes = changes ?? []
        return try store.storedValues(
            changes.map { $0.objectID }, { changes[$0].kind == .delete ? nil : changes[$0].properties })
    }
}

extension Store {
    /// Reads the stored values of objects of this store; nil for an object that does not exist.
    func storedValues(of ids: [ObjectID]) throws -> [[String: PropertyValue]?] {
        try storedValues(ids) { ids[$0].entity.properties.filter { !$0.isTransient } }
    }

    /// Reads the stored values of objects.
    ///
    /// - Parameter properties: Returns the properties to read for the object at an index; nil to skip the object.
    fileprivate func storedValues(
        _ ids: [ObjectID], _ properties: (Int) -> [Property]?
    ) throws -> [[String: PropertyValue]?] {
        var values = [[String: PropertyValue]?](repeating: nil, count: ids.count)
        let reader = backing.makeReader()
        let requested = ids.indices.map(properties)
        var groups = GroupedElements<Entity, Int>()
        for (place, id) in ids.enumerated() where requested[place] != nil { groups.add(place, to: id.entity.root) }
        try use {
            reader.endRead()
            for (root, places) in groups.list {
                let batch = try reader.rows(of: root, primaryKeys: places.map { ids[$0].reference })
                withExtendedLifetime(batch.chunks) {
                    let records = Dictionary(batch.records.map { ($0.primaryKey, $0) }, uniquingKeysWith: { $1 })
                    for place in places {
                        guard let record = records[ids[place].reference] else { continue }
                        values[place] = ids[place].values(of: requested[place] ?? [], record, self)
                    }
                }
                try readMembers(ids, requested, places, reader, into: &values)
            }
        }
        return values
    }

    private func readMembers(
        _ ids: [ObjectID], _ properties: [[Property]?], _ places: [Int], _ reader: any StoreReading,
        into values: inout [[String: PropertyValue]?]
    ) throws {
        var owners = GroupedElements<Relationship, Int>()
        for place in places where values[place] != nil {
            for case let relationship as Relationship in properties[place] ?? []
            where relationship.isToMany && !relationship.isTransient {
                owners.add(place, to: relationship)
            }
        }
        for (relationship, places) in owners.list {
            let keys = places.map { ids[$0].reference }
            let found = try reader.members(of: relationship, owners: keys, includingRows: false)
            var members: [Int64: [PropertyValue]] = [:]
            for member in found.members {
                let id = ObjectID(
                    store: self, entity: relationship.entity.model.entities[Int(member.entity)],
                    reference: member.primaryKey)
                members[member.owner, default: []].append(.object(ObjectIDReference(id)))
            }
            for place in places {
                values[place]?[relationship.name] = .array(members[ids[place].reference] ?? [])
            }
        }
    }
}

extension HistoryChange {
    /// The properties that the change set.
    fileprivate var properties: [Property] {
        kind == .update ? updatedProperties : objectID.entity.properties.filter { !$0.isTransient }
    }
}

extension ObjectID {
    fileprivate func values(of properties: [Property], _ record: Record, _ store: Store) -> [String: PropertyValue] {
        guard record.header.pointee.entity == entity.index else { return [:] }
        var values: [String: PropertyValue] = [:]
        for property in properties {
            if let relationship = property as? Relationship, relationship.isToMany { continue }
            if let value = value(of: property, record, store) { values[property.path] = value }
        }
        return values
    }

    /// Returns the value of a property in a row.
    ///
    /// The value of a composite attribute is a dictionary of its non-null elements, or null.
    private func value(of property: Property, _ record: Record, _ store: Store) -> PropertyValue? {
        if let attribute = property as? Attribute, attribute.type == .composite {
            let elements = attribute.elements.map { ($0.name, value(of: $0, record, store) ?? .null) }
            let known = elements.filter { !$0.1.isNull }
            return known.isEmpty ? .null : .dictionary(Dictionary(known) { $1 })
        }
        let (slot, entity) = (Int(property.slot), entity)
        guard slot < Int(entity.slotCount) else { return nil }
        return entity.value(of: record, slot, store)
    }
}
