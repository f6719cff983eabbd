import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A span of transactions whose old values were not recorded.
///
/// The values that these transactions replaced are unknown, except those in tombstones.
///
/// A change of one object may affect other objects without a recorded change. A deletion removes references to the
/// object, and an update of one side of a relationship changes the other side. In a save, Apple's framework and this
/// library record both sides. Batch requests and older versions of this library do not always record both.
///
/// If a transaction records only the other side of a to-many relationship, the relationship counts as unknown in all
/// objects. If a transaction deletes possible targets of a to-one relationship, nulls in that relationship count as
/// unknown.
struct UnrecordedRange {
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

    /// The changes that one transaction recorded.
    private struct Record {
        /// The root entities of inserted and of deleted objects.
        var inserted: Set<UInt32> = []
        var deleted: Set<UInt32> = []
        /// The keys of updated properties.
        var updated: Set<UInt32> = []

        /// Whether a member may have moved to another owner without a recorded change.
        ///
        /// The relationship does not have an inverse.
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
                try markUnrecordedRelationships(record, &unknown)
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
        try markUnrecordedRelationships(record, &unknown)
        if hasChanges { forgetDerivedAttributes(&unknown) }
    }

    private mutating func updated(_ row: Statement, _ entity: Entity, _ hasColumns: Bool) -> [Property] {
        guard hasColumns, let mask = row.blob(5) else { return entity.storedParts }
        return slots.slots(of: entity).slots(in: mask).map(\.property)
    }

    /// Restores the values of a deleted object from its tombstone. Its other values are unknown.
    private func restore(
        _ row: Statement, _ entity: Entity, _ form: HistoryForm, _ unknown: inout UnknownValues
    ) throws {
        let (key, table) = (row.integer(4), schema.table(of: entity))
        let preserved = HistorySchema.preservedAttributes(of: entity).prefix(form.tombstoneCount)
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

    /// Marks relationships as unknown that a transaction may have changed without recording it.
    private func markUnrecordedRelationships(_ record: Record, _ unknown: inout UnknownValues) throws {
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

    /// Marks nulls as unknown, because each may have been a reference to a deleted object.
    private func forgetNull(_ relationship: Relationship, _ unknown: inout UnknownValues) throws {
        let table = schema.table(of: relationship.entity)
        guard let column = table.column(of: relationship) else { return }
        let rows = try connection.statement(
            "SELECT Z_PK FROM \(table.name) WHERE \(column.name) IS NULL", purpose)
        defer { rows.reset() }
        while try rows.step(purpose) { unknown.add(relationship, ofRow: rows.integer(0), relationship.entity) }
    }

    /// Marks values as unknown that are derived from other objects.
    ///
    /// They may have changed although their own object did not.
    private func forgetDerivedAttributes(_ unknown: inout UnknownValues) {
        for derived in schema.derivedAttributes where derived.dependsOnOthers { unknown.addToAll(derived.attribute) }
    }
}

extension DerivedAttribute {
    fileprivate var dependsOnOthers: Bool {
        switch form {
        // `now()` is included, because every update of the row sets it.
        case .count, .sum, .copy, .now: true
        case .own, .text: false
        }
    }
}

extension Entity {
    /// The properties that are stored. Composite attributes are replaced by their elements.
    fileprivate var storedParts: [Property] {
        attributes.filter { !$0.isTransient && $0.type != .composite } as [Property]
            + relationships.filter { !$0.isTransient } as [Property]
    }
}
