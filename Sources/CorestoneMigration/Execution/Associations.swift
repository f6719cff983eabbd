import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues

/// The associations of source objects with destination objects, by entity mapping.
///
/// A mapping is identified by its index in the mapping model.
protocol Associations: AnyObject {
    func add(_ source: ManagedObject, _ destination: ManagedObject, mapping: Int) throws
    func destinations(of source: ManagedObject, mapping: Int) throws -> [ManagedObject]
    func sources(of destination: ManagedObject, mapping: Int) throws -> [ManagedObject]
    /// Calls `body` with the pairs of a mapping in the order of creation, in batches.
    ///
    /// `body` may invalidate the objects of the batch. In a migration in batches, pairs that were added since the last
    /// `didSave` are omitted.
    func forEachBatch(of mapping: Int, _ body: ([(source: ManagedObject, destination: ManagedObject)]) throws -> Void)
        throws
    /// Updates the associations after a save of the destination, when its objects have permanent IDs.
    func didSave() throws
}

/// Associations of a migration that keeps all of its objects in memory.
final class ObjectAssociations: Associations {
    private struct Table {
        var pairs: [(source: ManagedObject, destination: ManagedObject)] = []
        var bySource: [ObjectIdentifier: [Int]] = [:]
        var byDestination: [ObjectIdentifier: [Int]] = [:]
    }
    private var tables: [Table]

    init(count: Int) { tables = Array(repeating: Table(), count: count) }

    func add(_ source: ManagedObject, _ destination: ManagedObject, mapping: Int) {
        let place = tables[mapping].pairs.count
        tables[mapping].pairs.append((source, destination))
        tables[mapping].bySource[ObjectIdentifier(source), default: []].append(place)
        tables[mapping].byDestination[ObjectIdentifier(destination), default: []].append(place)
    }

    func destinations(of source: ManagedObject, mapping: Int) -> [ManagedObject] {
        let table = tables[mapping]
        return (table.bySource[ObjectIdentifier(source)] ?? []).map { table.pairs[$0].destination }
    }

    func sources(of destination: ManagedObject, mapping: Int) -> [ManagedObject] {
        let table = tables[mapping]
        return (table.byDestination[ObjectIdentifier(destination)] ?? []).map { table.pairs[$0].source }
    }

    func forEachBatch(
        of mapping: Int, _ body: ([(source: ManagedObject, destination: ManagedObject)]) throws -> Void
    ) throws {
        let pairs = tables[mapping].pairs
        if !pairs.isEmpty { try body(pairs) }
    }

    func didSave() {}

    /// Calls `body` with every pair, mapping by mapping.
    func forEach(_ body: (_ source: ManagedObject, _ destination: ManagedObject, _ mapping: Int) -> Void) {
        for (mapping, table) in tables.enumerated() {
            for pair in table.pairs { body(pair.source, pair.destination, mapping) }
        }
    }

    func removeAll() { tables = Array(repeating: Table(), count: tables.count) }
}

/// Associations of a migration in batches, stored as keys in a temporary SQLite table.
final class KeyAssociations: Associations {
    static let batchSize = 500
    private let table: AssociationTable
    private let source: Context
    private let destination: Context
    private let sourceStore: Store
    private let destinationStore: Store
    /// The pairs of the batch that is not saved yet.
    private let unsaved: ObjectAssociations

    init(
        _ table: AssociationTable, mappings count: Int, source: Context, _ sourceStore: Store, destination: Context,
        _ destinationStore: Store
    ) {
        unsaved = ObjectAssociations(count: count)
        (self.table, self.source, self.destination) = (table, source, destination)
        (self.sourceStore, self.destinationStore) = (sourceStore, destinationStore)
    }

    func add(_ source: ManagedObject, _ destination: ManagedObject, mapping: Int) {
        unsaved.add(source, destination, mapping: mapping)
    }

    func didSave() throws {
        var rows: [AssociationTable.Row] = []
        unsaved.forEach { rows.append(AssociationTable.Row(mapping: $2, source: $0, destination: $1)) }
        try table.add(rows)
        unsaved.removeAll()
    }

    func destinations(of source: ManagedObject, mapping: Int) throws -> [ManagedObject] {
        try table.destinations(ofKey: source.primaryKey, mapping: mapping).map {
            try destinationObject(($0.entity, $0.key))
        } + unsaved.destinations(of: source, mapping: mapping)
    }

    func sources(of destination: ManagedObject, mapping: Int) throws -> [ManagedObject] {
        let pending = unsaved.sources(of: destination, mapping: mapping)
        if destination.hasTemporaryID { return pending }
        let root = destination.entity.root
        return try table.sources(ofKey: destination.primaryKey, mapping: mapping)
            .filter { self.destination.entity(at: UInt32($0.entity)).root === root }
            .map { try sourceObject(($0.sourceEntity, $0.sourceKey)) } + pending
    }

    func forEachBatch(
        of mapping: Int, _ body: ([(source: ManagedObject, destination: ManagedObject)]) throws -> Void
    ) throws {
        var last: Int64 = 0
        while true {
            let batch = try table.rows(of: mapping, after: last, limit: KeyAssociations.batchSize)
            guard let end = batch.last else { return }
            last = end.number
            let sources = try source.objects(
                batch.map { ($0.row.sourceEntity, $0.row.sourceKey) }, in: sourceStore)
            let destinations = try destination.objects(
                batch.map { ($0.row.entity, $0.row.key) }, in: destinationStore)
            try body(Array(zip(sources, destinations)))
        }
    }

    private func sourceObject(_ row: (entity: Int, key: Int64)) throws -> ManagedObject {
        try source.object(
            with: ObjectID(store: sourceStore, entity: source.entity(at: UInt32(row.entity)), reference: row.key))
    }

    private func destinationObject(_ row: (entity: Int, key: Int64)) throws -> ManagedObject {
        try destination.object(
            with: ObjectID(
                store: destinationStore, entity: destination.entity(at: UInt32(row.entity)), reference: row.key))
    }
}

extension AssociationTable.Row {
    init(mapping: Int, source: ManagedObject, destination: ManagedObject) {
        self.init(
            mapping: mapping, sourceEntity: Int(source.entity.index), sourceKey: source.primaryKey,
            entity: Int(destination.entity.index), key: destination.primaryKey)
    }
}

extension Context {
    /// Returns the objects of rows, in the order of the rows. The rows are read with one request per entity.
    func objects(_ rows: [(entity: Int, key: Int64)], in store: Store) throws -> [ManagedObject] {
        var loaded: [ManagedObject] = []
        for (index, group) in Dictionary(grouping: rows, by: \.entity) {
            let entity = entity(at: UInt32(index))
            let request = FetchRequest(entity: entity)
            request.includesSubentities = false
            request.includesPendingChanges = false
            let ids = group.map {
                PropertyValue.object(ObjectIDReference(ObjectID(store: store, entity: entity, reference: $0.key)))
            }
            request.predicate = .comparison(Comparison(.selfObject, .in, .constant(.array(ids))))
            loaded += try fetch(request)
        }
        return try withExtendedLifetime(loaded) {
            try rows.map {
                try object(with: ObjectID(store: store, entity: entity(at: UInt32($0.entity)), reference: $0.key))
            }
        }
    }
}
