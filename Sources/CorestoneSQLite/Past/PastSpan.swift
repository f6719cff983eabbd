import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Transactions whose old values were not kept. The values that they changed are unknown before them.
///
/// A change of one object may change others without a change of their own: a deletion ends references to the object, and an update of
/// one side of a relationship changes the other side. Apple's framework and this library record both in a save; batch requests and
/// older versions of this library do not always do so. Where a transaction records one side alone, the whole relationship counts as
/// unknown.
struct PastSpan {
    private let connection: Connection
    private let schema: StoreSchema
    private let first, last: Int64
    private let purpose: String
    private let relationships: [Relationship]
    private var slots = EntitySlots()

    init(_ connection: Connection, _ schema: StoreSchema, _ first: Int64, _ last: Int64, _ purpose: String) {
        (self.connection, self.schema, self.first, self.last) = (connection, schema, first, last)
        self.purpose = purpose
        relationships = schema.model.entities.flatMap { $0.ownRelationships.filter { !$0.isTransient } }
    }

    /// What one transaction recorded.
    private struct Record {
        /// The roots of inserted and of deleted objects.
        var inserted: Set<UInt32> = []
        var deleted: Set<UInt32> = []
        /// Keys of updated properties.
        var updated: Set<UInt32> = []

        /// Whether a member of a relationship without inverse may have gone from one owner to another, which has no change then.
        func mayMove(_ relationship: Relationship) -> Bool {
            let (owner, member) = (relationship.entity.rootIndex, relationship.destination.rootIndex)
            return updated.contains(relationship.key) || inserted.contains(owner) || deleted.contains(owner)
                || deleted.contains(member)
        }
    }

    mutating func run(_ unknown: inout UnknownValues) throws {
        guard let design = try HistoryForm(of: connection) else { return }
        let statement = try connection.prepare(design.changeQuery, purpose)
        statement.bind(first, at: 1)
        statement.bind(last, at: 2)
        var record = Record()
        var number: Int64 = 0
        var hasChanges = false
        while try statement.step(purpose) {
            if statement.integer(1) != number {
                try conclude(record, &unknown)
                (record, number) = (Record(), statement.integer(1))
            }
            hasChanges = true
            guard let entity = schema.entity(number: statement.integer(3)) else { continue }
            switch statement.integer(2) {
            case HistoryWriter.ChangeType.update.rawValue:
                for property in updated(statement, entity, design.hasColumns) {
                    unknown.add(property, ofRow: statement.integer(4), entity)
                    record.updated.insert(property.key)
                }
                for attribute in entity.attributes where attribute.derivation != nil {
                    unknown.add(attribute, ofRow: statement.integer(4), entity)
                }
            case HistoryWriter.ChangeType.delete.rawValue:
                record.deleted.insert(entity.rootIndex)
                try restore(statement, entity, design, &unknown)
            default: record.inserted.insert(entity.rootIndex)
            }
        }
        try conclude(record, &unknown)
        if hasChanges { forgetDerivedAttributes(&unknown) }
    }

    private mutating func updated(_ row: Statement, _ entity: Entity, _ hasColumns: Bool) -> [Property] {
        guard hasColumns, let mask = row.blob(5) else { return entity.storedParts }
        return slots.slots(of: entity).slots(in: mask).map(\.property)
    }

    /// Gives a deleted object the values that its tombstone has; the others are unknown.
    private func restore(
        _ row: Statement, _ entity: Entity, _ form: HistoryForm, _ unknown: inout UnknownValues
    ) throws {
        let (key, table) = (row.integer(4), schema.table(of: entity))
        let preserved = HistoryDesign.preservedAttributes(of: entity).prefix(form.tombstoneCount)
        var known: Set<UInt32> = []
        for (place, attribute) in preserved.enumerated() {
            guard let column = table.column(of: attribute), !unknown.contains(attribute, ofRow: key, entity) else {
                continue
            }
            let update = try connection.statement(
                "UPDATE \(table.name) SET \(column.name) = (SELECT ZTOMBSTONE\(place) FROM ACHANGE WHERE Z_PK = ?) WHERE Z_PK = ?",
                purpose)
            update.bind(row.integer(0), at: 1)
            update.bind(key, at: 2)
            try update.run(purpose)
            known.insert(attribute.key)
        }
        for property in entity.storedParts where !known.contains(property.key) {
            unknown.add(property, ofRow: key, entity)
        }
    }

    /// Relationships of which a transaction recorded one side alone.
    private func conclude(_ record: Record, _ unknown: inout UnknownValues) throws {
        for relationship in relationships {
            if relationship.isToMany, relationship.inverse == nil {
                if record.mayMove(relationship) { unknown.addToAll(relationship) }
                continue
            }
            if record.updated.contains(relationship.key) { continue }
            let hasDeletedTargets = record.deleted.contains(relationship.destination.rootIndex)
            if !relationship.isToMany {
                if hasDeletedTargets { try forgetNull(relationship, &unknown) }
            } else if hasDeletedTargets || relationship.inverse.map({ record.updated.contains($0.key) }) == true {
                unknown.addToAll(relationship)
            }
        }
    }

    /// Any null may have led to a deleted object.
    private func forgetNull(_ relationship: Relationship, _ unknown: inout UnknownValues) throws {
        let table = schema.table(of: relationship.entity)
        guard let column = table.column(of: relationship) else { return }
        let rows = try connection.statement(
            "SELECT Z_PK FROM \(table.name) WHERE \(column.name) IS NULL", purpose)
        defer { rows.reset() }
        while try rows.step(purpose) { unknown.add(relationship, ofRow: rows.integer(0), relationship.entity) }
    }

    /// Values that are derived from other objects may have changed without a change of their own object.
    private func forgetDerivedAttributes(_ unknown: inout UnknownValues) {
        for derived in schema.derivedAttributes where derived.dependsOnOthers { unknown.addToAll(derived.attribute) }
    }
}

extension DerivedAttribute {
    fileprivate var dependsOnOthers: Bool {
        switch form {
        // That of `now()` is set by each update of the row.
        case .count, .sum, .copy, .now: true
        case .own, .text: false
        }
    }
}

extension Entity {
    /// The properties that have values of their own in the store: elements instead of composite attributes.
    fileprivate var storedParts: [Property] {
        attributes.filter { !$0.isTransient && $0.type != .composite } as [Property]
            + relationships.filter { !$0.isTransient } as [Property]
    }
}
