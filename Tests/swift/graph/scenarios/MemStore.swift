import Corestone

/// The custom incremental store of the scenarios, through the public protocol: rows in dictionaries, and call counters.
///
/// A node has the attributes of its row and the targets of to-one relationships that the row contains. It omits other
/// to-one relationships and all to-many relationships.
final class MemStore: IncrementalStore, @unchecked Sendable {
    struct Row {
        let entity: Entity
        var version: Int64 = 1
        var attributes: [String: PropertyValue] = [:]
        /// Targets. A nil target means that the relationship is null; a missing one, that it is omitted.
        var targets: [String: StoreReference?] = [:]
        var members: [String: [StoreReference]] = [:]
    }

    /// The rows by reference. References are unique in these scenarios.
    var rows: [StoreReference: Row] = [:]
    /// The calls in order: "fetch", "newValues", "newValue manager", "obtainPermanentIDs", "save 1 0 0", "didRegister".
    var log: [String] = []
    private(set) var fetchRequests = 0
    private(set) var saveRequests = 0
    private(set) var newValues = 0
    private(set) var relationshipCalls = 0
    private(set) var obtainPermanentIDs = 0
    private(set) var lastSave = (inserted: 0, updated: 0, deleted: 0)
    private(set) var lastFetch: FetchRequest?
    /// Fetches return every row of the entity with its values, and claim that the whole request was evaluated.
    var ignoresPredicateAndOrder = false
    /// Fetches also return values.
    var pushesValues = false
    /// The work that fetches report as done.
    var done: FetchWork = []
    var saveFailure: (any Error)?
    /// The nodes that a save returns.
    var afterSave: [StoreNode] = []
    /// Returns the reference of a new object; nil: the library makes references.
    var naming: ((NewObject, Int64) -> StoreReference?)? = { _, number in .integer(number) }
    private var last: Int64 = 100
    private let model: Model
    private(set) var opening: StoreOpening?
    private(set) var isClosed = false

    init(model: Model) { self.model = model }
    init(_ opening: StoreOpening) throws { (self.opening, model) = (opening, opening.model) }

    var metadata: [String: PropertyListValue] { opening?.metadata.dictionary ?? [:] }
    class var observesRegistrations: Bool { true }
    class var abilities: HostStoreAbilities { [] }

    /// Adds the store to a coordinator, under a type that is registered for this call only.
    func added(to coordinator: Coordinator, options: StoreOptions = StoreOptions()) throws -> Store {
        let name = "Mem \(UUIDValue.random())"
        let type = try StoreTypes.register(name, MemStore.self) { [self] opening in
            self.opening = opening
            return self
        }
        defer { _ = try? StoreTypes.unregister(name) }
        return try coordinator.addStore(type, at: "mem", options: options)
    }

    /// Adds a row to the store directly.
    func add(
        _ entityName: String, _ key: Int64, _ attributes: [String: PropertyValue] = [:],
        targets: [String: Int64?] = [:], members: [String: [Int64]] = [:]
    ) throws {
        rows[.integer(key)] = Row(
            entity: try model.requireEntity(named: entityName), attributes: attributes,
            targets: targets.mapValues { $0.map { .integer($0) } },
            members: members.mapValues { $0.map { .integer($0) } })
    }

    private func node(_ reference: StoreReference, _ row: Row) -> StoreNode {
        var values = row.attributes
        for (name, target) in row.targets { values[name] = target?.value ?? .null }
        let node = StoreNode(row.entity, reference, values, version: row.version)
        for (name, target) in row.targets { node.targets[name] = target.flatMap { rows[$0]?.entity } }
        return node
    }

    private var ordered: [(StoreReference, Row)] { rows.sorted { "\($0.key)" < "\($1.key)" } }

    func fetch(_ request: FetchRequest) throws -> FetchAnswer {
        fetchRequests += 1
        lastFetch = request
        log.append("fetch")
        let found = ordered.filter { _, row in
            request.includesSubentities ? row.entity.isKind(of: request.entity) : row.entity === request.entity
        }
        let gives = ignoresPredicateAndOrder || pushesValues
        return FetchAnswer(
            found.map { gives ? node($0, $1) : StoreNode($1.entity, $0) },
            done: ignoresPredicateAndOrder ? .all : done)
    }

    func nodes(for references: [RowReference]) throws -> [StoreNode] {
        newValues += 1
        log.append("newValues")
        return references.compactMap { asked in rows[asked.reference].map { node(asked.reference, $0) } }
    }

    func members(of relationship: Relationship, for owners: [RowReference]) throws -> [[RowReference]] {
        relationshipCalls += 1
        log.append("newValue \(relationship.name)")
        return owners.map { owner in
            (rows[owner.reference]?.members[relationship.name] ?? []).compactMap { reference in
                rows[reference].map { RowReference($0.entity, reference) }
            }
        }
    }

    func references(for objects: [NewObject]) throws -> [StoreReference]? {
        obtainPermanentIDs += 1
        log.append("obtainPermanentIDs")
        guard let naming else { return nil }
        return objects.compactMap { object in
            last += 1
            return naming(object, last)
        }
    }

    func save(_ request: SaveChangesRequest) throws -> [StoreNode] {
        if let saveFailure { throw saveFailure }
        lastSave = (request.inserted.count, request.updated.count, request.deleted.count)
        saveRequests += 1
        log.append("save \(lastSave.inserted) \(lastSave.updated) \(lastSave.deleted)")
        var conflicts = false
        for saved in request.updated + request.deleted + request.locked
        where rows[saved.row.reference]?.version != saved.oldVersion ?? saved.version {
            try request.addConflict(saved.row)
            conflicts = true
        }
        if conflicts { return [] }
        for saved in request.inserted + request.updated { put(saved) }
        for saved in request.deleted { rows[saved.row.reference] = nil }
        for change in request.memberChanges {
            var members = rows[change.owner.reference]?.members[change.relationship.name] ?? []
            members.removeAll { member in change.removed.contains { $0.reference == member } }
            members += change.added.map(\.reference)
            rows[change.owner.reference]?.members[change.relationship.name] =
                change.members?.map(\.reference) ?? members
        }
        return afterSave
    }

    private func put(_ saved: SavedRow) {
        var row = Row(entity: saved.row.entity, version: saved.version)
        row.members = rows[saved.row.reference]?.members ?? [:]
        for (name, value) in saved.values {
            guard let relationship = saved.row.entity.property(named: name) as? Relationship else {
                row.attributes[name] = value
                continue
            }
            let target = saved.targets[name]?.reference
            row.targets[name] = .some(target)
            guard let inverse = relationship.inverse, inverse.isToMany else { continue }
            for owner in rows.keys { rows[owner]?.members[inverse.name]?.removeAll { $0 == saved.row.reference } }
            if let target { rows[target]?.members[inverse.name, default: []].append(saved.row.reference) }
        }
        rows[saved.row.reference] = row
    }

    /// The registration notices in order, with the number of objects of each.
    private(set) var notices: [(text: String, count: Int)] = []
    func didRegister(_ rows: [RowReference]) { note("didRegister", rows.count) }
    func didUnregister(_ rows: [RowReference]) { note("didUnregister", rows.count) }
    private func note(_ text: String, _ count: Int) {
        log.append(text)
        notices.append((text, count))
    }
    func close() { isClosed = true }
}
