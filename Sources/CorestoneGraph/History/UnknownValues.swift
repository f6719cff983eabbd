import CorestoneModel

/// The unknown values of a past store, which later transactions replaced without keeping them.
package struct UnknownValues: Sendable {
    /// The keys of unknown properties, by the index of the root entity and the primary key.
    private var ofRows: [UInt32: [Int64: Set<UInt32>]] = [:]
    /// The keys of properties that are unknown in all rows, except in the rows with these primary keys.
    private var ofAll: [UInt32: Set<Int64>] = [:]

    package init() {}

    package var isEmpty: Bool { ofRows.isEmpty && ofAll.isEmpty }

    package mutating func add(_ property: Property, ofRow key: Int64, _ entity: Entity) {
        ofRows[entity.rootIndex, default: [:]][key, default: []].insert(property.key)
    }

    package mutating func addToAll(_ property: Property) { ofAll[property.key] = [] }

    /// Marks a value as known, because a transaction that is being undone kept it.
    package mutating func remove(_ property: Property, ofRow key: Int64, _ entity: Entity) {
        ofAll[property.key]?.insert(key)
        guard ofRows[entity.rootIndex]?[key]?.remove(property.key) != nil else { return }
        if ofRows[entity.rootIndex]?[key]?.isEmpty == true { removeRow(key, entity) }
    }

    /// Removes a row, because it does not exist or all of its values are known.
    package mutating func removeRow(_ key: Int64, _ entity: Entity) {
        ofRows[entity.rootIndex]?[key] = nil
        if ofRows[entity.rootIndex]?.isEmpty == true { ofRows[entity.rootIndex] = nil }
    }

    /// Calls `body` for each unknown value in `ofRows`.
    ///
    /// The arguments of `body` are the index of the root entity, the primary key and the property's key.
    package func forEachCell(_ body: (UInt32, Int64, UInt32) throws -> Void) rethrows {
        for (root, rows) in ofRows {
            for (key, properties) in rows { for property in properties { try body(root, key, property) } }
        }
    }

    /// The keys of properties that are unknown in all rows, except in the rows with these primary keys.
    package var exceptedRows: [UInt32: Set<Int64>] { ofAll }

    package func contains(_ property: Property, ofRow key: Int64, _ entity: Entity) -> Bool {
        if let excepted = ofAll[property.key], !excepted.contains(key) { return true }
        return ofRows[entity.rootIndex]?[key]?.contains(property.key) == true
    }
}
