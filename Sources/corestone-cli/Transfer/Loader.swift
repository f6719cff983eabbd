import Corestone

/// Makes objects of what files say, and saves them: all at once in the end, or some at a time.
///
/// A line is looked through before it touches an object (`Plan`), so that one that is refused changes nothing: no delete rule
/// runs for it, and what lines before it did to the same object stays.
final class Loader {
    struct Rules {
        /// The entity of lines that name none.
        var entity: Entity?
        /// An object that has the unique values already is changed.
        var upserts = false
        /// Properties that the model lacks are passed over.
        var skipsUnknown = false
        /// Nothing is saved.
        var isTrial = false
        /// After that many lines they are saved; nil saves all of them in the end, or nothing.
        var batchSize: Int?
        /// Lines that a save refuses are left out.
        var keepsGoing = false
    }

    /// What an object is called in a file; most names are those of a dump, which take no memory of their own. Texts are compared
    /// by bytes: `é` composed and decomposed are two names.
    enum Name: Hashable {
        case number(UInt32, Int64)
        case text(Text)
    }

    /// A relationship to objects that come further down.
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
    /// Told of lines that are left out; throws to end it.
    let refuse: (LoadFailure) throws -> Void

    private(set) var inserted = 0
    private(set) var updated = 0
    /// The last line whose object is saved.
    private(set) var lastSaved: FilePlace?
    /// Objects that are saved, by name.
    var saved: [Name: ObjectID] = [:]
    /// Objects of this batch.
    var fresh: [Name: ManagedObject] = [:]
    var freshByValues: [UniqueKey: ManagedObject] = [:]
    var searches = SearchIndex()
    /// What became of each line of this batch.
    private(set) var made: [(object: ManagedObject, line: FilePlace)] = []
    /// The lines themselves, where some may have to be left out of the batch.
    private var records: [LoadRecord] = []
    private var later: [Later] = []
    var laterOfBatch: [(owner: ManagedObject, what: Later)] = []
    /// Objects that lack a required relationship as yet.
    private var incomplete: [(object: ManagedObject, line: FilePlace)] = []
    private var counts = (inserted: 0, updated: 0)
    /// The names of properties of all entities of a family, by its root.
    private var familyNames: [UInt32: Set<String>] = [:]
    /// Names that were told to be missing.
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

    /// Saves what is left.
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
            // Not to be: links were looked at before. The batch is made anew without the line.
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

    /// Sets attributes; an object that does not take them is what it was before.
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
                // Nothing leads to it yet.
                try context.delete(object)
            } else {
                for (attribute, value) in former.reversed() { try object.setValue(value, forKeyPath: attribute.path) }
                if !hadChanges { try context.refresh(object, mergeChanges: false) }
            }
            throw error
        }
    }

    /// Whether any entity with the same root has a property of that name.
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
            // What lacks something waits for it, and all others with it.
            if !incomplete.isEmpty { return }
        }
        try save()
    }

    /// Sets relationships of this batch to objects that came meanwhile.
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

    /// A batch may be made more than once.
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

    /// What a save would find: required relationships that nothing came for.
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

    /// Makes the batch anew, of these lines alone.
    private func remake(_ lines: [LoadRecord]) throws {
        forgetBatch()
        try context.reset()
        for record in lines { try take(record) }
        try settle(isEnd: false)
    }

    // MARK: Lines that a save refuses

    /// Leaves those lines out that keep the batch from being saved.
    private func leaveOut(_ error: CoreError) throws {
        let wrong = certain(blamed(error))
        for each in wrong { try refuse(LoadFailure(line: made[each.place].line, message: each.message)) }
        guard wrong.isEmpty else {
            let places = Set(wrong.map(\.place))
            return try remake(records.enumerated().filter { !places.contains($0.offset) }.map(\.element))
        }
        // A full disk is the fault of no line.
        guard !records.isEmpty, error.status == .validation || error.status == .conflict else { throw error }
        guard records.count > 1 else {
            for each in error.leaves { try refuse(LoadFailure(line: records[0].line, message: each.lineMessage)) }
            return try remake([])
        }
        // Halves: of many lines a few are wrong.
        let half = records.count / 2
        let (first, second) = (Array(records[..<half]), Array(records[half...]))
        try remake(first)
        try save()
        try remake(second)
    }

    /// A line of the batch that an error of its save is about; `keeper` is the line before whose values it has.
    private typealias Blame = (place: Int, keeper: Int?, message: String)

    /// Without duplicates of lines that may have to be left out themselves, which the next save tells: those that are to be left
    /// out for another reason, and those that need an object, which may be left out.
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
        // Of several lines about one object the last is the first to go.
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
                "\($0) \"\(conflict.constraintValues[$0]?.plainText ?? "")\""
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

    /// Relationships from objects that are saved to ones that came behind them.
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
            // Halves: of many lines a few are wrong.
            let half = links.startIndex + links.count / 2
            try settle(saved: links[..<half])
            return try settle(saved: links[half...])
        }
        try context.reset()
    }
}
