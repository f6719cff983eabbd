import Corestone

/// A loader of objects from the records of files. It saves all objects together at the end, or in batches.
///
/// A line is checked completely before it changes an object. A rejected line therefore does not have an effect: delete
/// rules do not apply, and changes of earlier lines to the same object are kept.
final class Loader {
    struct Rules {
        /// The entity of lines without an entity.
        var entity: Entity?
        /// Whether an existing object with the same unique values is updated.
        var upserts = false
        /// Whether properties that the model does not have are ignored.
        var skipsUnknown = false
        /// Whether the load is a dry run, which does not save.
        var isTrial = false
        /// The number of lines per save; nil to save all lines together, or not at all.
        var batchSize: Int?
        /// Whether lines that cannot be loaded are skipped.
        var keepsGoing = false
    }

    /// The name of an object in a file.
    ///
    /// Most names come from a dump and are stored as numbers. Texts are compared by bytes, so composed and decomposed
    /// `é` are different names.
    enum Name: Hashable {
        case number(UInt32, Int64)
        case text(Text)
    }

    /// A relationship to objects of later lines.
    struct Later {
        let owner: ObjectID
        let relationship: Relationship
        let names: [String]
        let line: FilePlace
    }

    let context: Context
    let store: Store
    let model: Model
    var rules: Rules
    /// A function that is called for each rejected line. It throws to end the load.
    let refuse: (LoadFailure) throws -> Void

    private(set) var inserted = 0
    private(set) var updated = 0
    /// The last line whose object is saved.
    private(set) var lastSaved: FilePlace?
    /// The saved objects by name.
    var saved: [Name: ObjectID] = [:]
    /// The objects of this batch by name.
    var fresh: [Name: ManagedObject] = [:]
    var freshByValues: [UniqueKey: ManagedObject] = [:]
    var searches = SearchIndex()
    /// The object of each line of this batch.
    private(set) var made: [(object: ManagedObject, line: FilePlace)] = []
    /// The records of the batch, kept so that the batch can be repeated without some of them.
    private var records: [LoadRecord] = []
    private var later: [Later] = []
    var laterOfBatch: [(owner: ManagedObject, what: Later)] = []
    /// The objects that do not have a required relationship yet.
    private var incomplete: [(object: ManagedObject, line: FilePlace)] = []
    private var counts = (inserted: 0, updated: 0)
    /// The property names of all entities in an entity tree, by the index of the root entity.
    private var familyNames: [UInt32: Set<String>] = [:]
    /// Failures that were already reported.
    private var missing: Set<Text> = []

    init(_ coordinator: Coordinator, _ rules: Rules, refuse: @escaping (LoadFailure) throws -> Void) throws {
        guard let store = coordinator.stores.first else {
            throw CoreError(
                .internal,
                "the coordinator does not have the store that it opened; report it as a defect of the library")
        }
        (self.store, model, self.rules, self.refuse) = (store, coordinator.model, rules, refuse)
        context = Context(coordinator: coordinator)
    }

    // MARK: Lines

    func add(_ record: LoadRecord) throws {
        try take(record)
        if let size = rules.batchSize, !made.isEmpty, made.count % size == 0 { try saveIfComplete() }
    }

    /// Saves the remaining objects.
    func finish() throws {
        try settle(isEnd: true)
        if rules.isTrial {
            try refuseIncomplete()
            (inserted, updated) = counts
        } else {
            try save()
            try settleSaved()
        }
        fresh = [:]
    }

    private func take(_ record: LoadRecord) throws {
        do { try make(record) } catch let failure as LoadFailure { try refuse(failure) } catch let error as CoreError {
            for each in error.leaves { try refuse(LoadFailure(line: record.line, message: each.lineMessage)) }
        }
    }

    private func make(_ record: LoadRecord) throws {
        let entity = try entity(of: record)
        let name = record.name.map { self.name($0) }
        if let name, saved[name] != nil || fresh[name] != nil {
            throw LoadFailure(
                line: record.line,
                message: "the @id \"\(record.name ?? "")\" belongs to an earlier object; use each @id once")
        }
        let values = try values(of: record, entity)
        let links = try links(of: record, entity)
        let former = rules.upserts ? try existing(entity, values) : nil
        let object = try former ?? context.insert(entity)
        try set(values, of: object, isNew: former == nil)
        do { for link in links { try set(link, of: object, record.line) } } catch {
            // A failure is not expected here, because links were checked before. The batch is repeated without the
            // line.
            try remake(records)
            throw error
        }
        if let name { fresh[name] = object }
        if rules.upserts { for key in uniqueKeys(entity, values) { freshByValues[key] = object } }
        try searches.note(object)
        if former == nil { counts.inserted += 1 } else { counts.updated += 1 }
        made.append((object, record.line))
        if rules.keepsGoing { records.append(record) }
        if lacksRelationship(object, entity) { incomplete.append((object, record.line)) }
    }

    private func entity(of record: LoadRecord) throws -> Entity {
        guard let name = record.entityName else {
            if let entity = rules.entity { return entity }
            throw LoadFailure(
                line: record.line, message: "the line does not have an entity; add --entity, or @entity in the line")
        }
        do {
            let entity = try model.requireEntity(named: name)
            guard !entity.isAbstract else {
                let remedy = entity.children.isEmpty ? "use another entity" : "use one of its subentities"
                throw LoadFailure(
                    line: record.line, message: "\(name) is abstract and cannot have objects; \(remedy)")
            }
            return entity
        } catch let error as CoreError { throw LoadFailure(line: record.line, message: error.message) }
    }

    /// Sets attributes. If a value is rejected, the object is restored.
    private func set(_ values: [(Attribute, PropertyValue)], of object: ManagedObject, isNew: Bool) throws {
        let hadChanges = object.hasChanges
        var former: [(Attribute, PropertyValue)] = []
        do {
            for (attribute, value) in values {
                if !isNew { former.append((attribute, try object.value(forKeyPath: attribute.path))) }
                try object.setValue(value, forKeyPath: attribute.path)
            }
            try validate(object, object.objectID.entity, isNew: object.isInserted)
        } catch {
            if isNew {
                // Other objects do not refer to the new object yet.
                try context.delete(object)
            } else {
                for (attribute, value) in former.reversed() { try object.setValue(value, forKeyPath: attribute.path) }
                if !hadChanges { try context.refresh(object, mergeChanges: false) }
            }
            throw error
        }
    }

    /// Whether any entity in the same tree has a property of that name.
    func isKnown(_ key: String, inFamilyOf entity: Entity) -> Bool {
        let root = entity.root
        if let known = familyNames[root.index] { return known.contains(key) }
        let names = Set(
            root.withDescendants.flatMap { each in each.properties.filter { $0.entity === each }.map(\.path) })
        familyNames[root.index] = names
        return names.contains(key)
    }

    // MARK: Saving

    private func saveIfComplete() throws {
        if !incomplete.isEmpty {
            try settle(isEnd: false)
            incomplete.removeAll { !lacksRelationship($0.object, $0.object.objectID.entity) }
            // The whole batch waits until incomplete objects are complete.
            if !incomplete.isEmpty { return }
        }
        try save()
    }

    /// Sets relationships of this batch to objects of later lines.
    private func settle(isEnd: Bool) throws {
        var rest: [(ManagedObject, Later)] = []
        for (owner, each) in laterOfBatch {
            let found = try each.names.map { ($0, try object(named: $0)) }
            if found.contains(where: { $0.1 == nil }) {
                guard isEnd else {
                    rest.append((owner, each))
                    continue
                }
                for (name, object) in found where object == nil { try refuseDangling(each, name) }
            }
            do { try set(.members(each.relationship, found.compactMap(\.1)), of: owner, each.line) } catch let error
                as CoreError
            {
                try refuse(LoadFailure(line: each.line, message: error.lineMessage))
            }
        }
        laterOfBatch = rest
    }

    private func refuseDangling(_ later: Later, _ name: String) throws {
        let failure = LoadFailure(
            line: later.line,
            message:
                "\(later.relationship.entity.name).\(later.relationship.name) refers to \"\(name)\", which is not an @id in the "
                + "files\(rules.keepsGoing ? " and is omitted" : ""); add the object, or correct the @id"
        )
        try refuseOnce(failure)
    }

    /// Reports a failure only once, because a batch can be repeated.
    private func refuseOnce(_ failure: LoadFailure) throws {
        if missing.insert(Text("\(failure.line): \(failure.message)")).inserted { try refuse(failure) }
    }

    private func save() throws {
        while !made.isEmpty || context.hasChanges {
            do {
                try context.save()
                return try didSave()
            } catch let error as CoreError { try leaveOut(error) }
        }
    }

    private func didSave() throws {
        inserted += counts.inserted
        updated += counts.updated
        lastSaved = made.last?.line ?? lastSaved
        for (name, object) in fresh { saved[name] = object.objectID }
        // The objects have permanent IDs now.
        for (owner, each) in laterOfBatch {
            later.append(
                Later(owner: owner.objectID, relationship: each.relationship, names: each.names, line: each.line))
        }
        forgetBatch()
        try context.reset()
    }

    /// Reports missing required relationships, which a save would reject.
    private func refuseIncomplete() throws {
        for (object, line) in incomplete where lacksRelationship(object, object.objectID.entity) {
            do { try object.validateForInsert() } catch let error as CoreError {
                for each in error.leaves { try refuse(LoadFailure(line: line, message: each.lineMessage)) }
            }
        }
    }

    private func forgetBatch() {
        (fresh, freshByValues, made, records, laterOfBatch, incomplete) = ([:], [:], [], [], [], [])
        searches.forget()
        counts = (0, 0)
    }

    /// Repeats the batch with only these lines.
    private func remake(_ lines: [LoadRecord]) throws {
        forgetBatch()
        try context.reset()
        for record in lines { try take(record) }
        try settle(isEnd: false)
    }

    // MARK: Lines that a save rejects

    /// Leaves out the lines that prevent the batch from being saved.
    private func leaveOut(_ error: CoreError) throws {
        let wrong = certain(blamed(error))
        for each in wrong { try refuse(LoadFailure(line: made[each.place].line, message: each.message)) }
        guard wrong.isEmpty else {
            let places = Set(wrong.map(\.place))
            return try remake(records.enumerated().filter { !places.contains($0.offset) }.map(\.element))
        }
        // Other errors, such as a full disk, are not caused by a line.
        guard !records.isEmpty, error.status == .validation || error.status == .conflict else { throw error }
        guard records.count > 1 else {
            for each in error.leaves { try refuse(LoadFailure(line: records[0].line, message: each.lineMessage)) }
            return try remake([])
        }
        // The batch is halved to find the few invalid lines.
        let half = records.count / 2
        let (first, second) = (Array(records[..<half]), Array(records[half...]))
        try remake(first)
        try save()
        try remake(second)
    }

    /// A line that caused a save to fail. `keeper` is the earlier line with the same unique values.
    private typealias Blame = (place: Int, keeper: Int?, message: String)

    /// Removes uncertain blame: duplicates of lines that may be left out themselves.
    ///
    /// Such lines have other errors or need a missing object. The next save shows whether the duplicates are valid.
    private func certain(_ blamed: [Blame]) -> [Blame] {
        let places = Set(blamed.map(\.place))
        func stays(_ keeper: Int) -> Bool { !places.contains(keeper) }
        let sure = blamed.filter { each in
            guard let keeper = each.keeper else { return true }
            return stays(keeper)
                && !made[keeper].object.objectID.entity.relationships.contains { !$0.isOptional && !$0.isTransient }
        }
        if !sure.isEmpty { return sure }
        let likely = blamed.filter { $0.keeper.map(stays) ?? true }
        return likely.isEmpty ? Array(blamed.prefix(1)) : likely
    }

    private func blamed(_ error: CoreError) -> [Blame] {
        let conflicts = error.conflicts.compactMap { $0 as? ConstraintConflict }
        let leaves = conflicts.isEmpty ? error.leaves : []
        let wanted = Set(conflicts.flatMap { $0.objectIDs.map(\.uri) } + leaves.compactMap(\.objectURI))
        // If several lines change one object, the last one is left out first.
        var places: [String: Int] = [:]
        for (place, each) in made.enumerated() where !wanted.isEmpty {
            let uri = each.object.objectID.uri
            if wanted.contains(uri) { places[uri] = place }
        }
        let remedy =
            rules.upserts ? "change the value" : "change the value, or add --upsert to update that object"
        var result: [Blame] = []
        for conflict in conflicts {
            var found = conflict.objectIDs.compactMap { places[$0.uri] }.sorted()
            var other = conflict.databaseObjectID.map { "\($0.dumpName) in the store has" } ?? "another line has"
            var keeper: Int?
            if conflict.databaseObjectID == nil, found.count > 1 {
                keeper = found[0]
                other = "\(made[found[0]].line) has"
                found.removeFirst()
            }
            let values = conflict.constraint.map {
                "\($0) \(conflict.constraintValues[$0]?.excerpt ?? "null")"
            }
            for place in found {
                result.append(
                    (
                        place, keeper,
                        "\(made[place].object.objectID.entity.name) has \(values.joined(separator: " and ")), which \(other) too, "
                            + "but \(conflict.constraint.joined(separator: ", ")) must be unique; \(remedy)"
                    ))
            }
        }
        for leaf in leaves {
            if let place = leaf.objectURI.flatMap({ places[$0] }) { result.append((place, nil, leaf.lineMessage)) }
        }
        return result.sorted { $0.place < $1.place }
    }

    /// Sets relationships of saved objects to objects of later lines.
    private func settleSaved() throws {
        let all = later[...]
        later = []
        let size = rules.batchSize ?? max(all.count, 1)
        for start in stride(from: 0, to: all.count, by: size) {
            try settle(saved: all[start..<min(start + size, all.count)])
        }
    }

    private func settle(saved links: ArraySlice<Later>) throws {
        for each in links {
            let owner = try context.object(with: each.owner)
            var members: [ManagedObject] = []
            for name in each.names {
                if let member = try object(named: name) {
                    members.append(member)
                } else {
                    try refuseDangling(each, name)
                }
            }
            do { try set(.members(each.relationship, members), of: owner, each.line) } catch let error as CoreError {
                try refuseOnce(LoadFailure(line: each.line, message: error.lineMessage))
            }
        }
        guard context.hasChanges else { return }
        do { try context.save() } catch let error as CoreError
            where rules.keepsGoing && (error.status == .validation || error.status == .conflict)
        {
            try context.reset()
            guard links.count > 1 else {
                guard let link = links.first else { return }
                for each in error.leaves {
                    try refuseOnce(
                        LoadFailure(
                            line: link.line,
                            message:
                                "\(each.lineMessage). \(link.relationship.entity.name).\(link.relationship.name) is omitted, and "
                                + "the rest of the line is loaded"
                        ))
                }
                return
            }
            // The links are halved to find the few invalid ones.
            let half = links.startIndex + links.count / 2
            try settle(saved: links[..<half])
            return try settle(saved: links[half...])
        }
        try context.reset()
    }
}
