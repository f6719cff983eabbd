import Corestone

/// A loader of objects from the records of files. It saves all objects together at the end, or in batches.
///
/// A line is checked before it changes an object, and an object is restored if a value is rejected. A rejected line
/// therefore does not have an effect: delete rules do not apply, and changes of earlier lines to the same object are
/// kept.
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
    struct PendingLink {
        let owner: ObjectID
        let relationship: Relationship
        let names: [String]
        let line: FilePlace
    }

    /// An object of a line.
    struct BatchObject {
        let object: ManagedObject
        let line: FilePlace
        /// The index of the line in the batch.
        let record: Int
        /// The relationships from the line's own object to a nested one, for messages: "Show.episodes[2]: ", else "".
        let path: String
    }

    let context: Context
    let store: Store
    let model: Model
    var rules: Rules
    /// A function that is called for each rejected line. It throws to end the load.
    let reject: (LoadFailure) throws -> Void

    private(set) var inserted = 0
    private(set) var updated = 0
    /// The last line whose object is saved.
    private(set) var lastSaved: FilePlace?
    /// The saved objects by name.
    var saved: [Name: ObjectID] = [:]
    /// The objects of this batch by name.
    var batchObjectsByName: [Name: ManagedObject] = [:]
    var batchObjectsByValues: [UniqueKey: ManagedObject] = [:]
    var searches = SearchIndex()
    /// The objects of the lines of this batch, those of nested records too.
    var batchObjects: [BatchObject] = []
    /// The number of lines of this batch.
    private(set) var lineCount = 0
    /// The records of the batch, kept so that the batch can be repeated without some of them.
    private var records: [LoadRecord] = []
    private var pendingLinks: [PendingLink] = []
    var pendingLinksOfBatch: [(owner: ManagedObject, link: PendingLink)] = []
    /// The objects that do not have a required relationship yet.
    var incomplete: [(object: ManagedObject, line: FilePlace)] = []
    var counts = (inserted: 0, updated: 0)
    /// The saved objects of nested records, which are counted once.
    private(set) var countedIDs: Set<ObjectID> = []
    var countedIDsOfBatch: Set<ObjectID> = []
    /// The number of nested objects with a name of the loader's own.
    var ownNames = 0
    /// The property names of all entities in an entity tree, by the index of the root entity.
    private var familyNames: [UInt32: Set<String>] = [:]
    /// Failures that were already reported.
    private var missing: Set<Text> = []

    init(_ coordinator: Coordinator, _ rules: Rules, reject: @escaping (LoadFailure) throws -> Void) throws {
        guard let store = coordinator.stores.first else {
            throw CoreError(
                .internal,
                "the coordinator does not have the store that it opened; report it as a defect of the library")
        }
        (self.store, model, self.rules, self.reject) = (store, coordinator.model, rules, reject)
        context = Context(coordinator: coordinator)
    }

    // MARK: Lines

    func add(_ record: LoadRecord) throws {
        try load(record)
        if let size = rules.batchSize, lineCount > 0, lineCount % size == 0 { try saveIfComplete() }
    }

    /// Saves the remaining objects.
    func finish() throws {
        try resolveLinks(isEnd: true)
        if rules.isTrial {
            try rejectIncomplete()
            (inserted, updated) = counts
        } else {
            try save()
            try resolveLinksOfSavedObjects()
        }
        batchObjectsByName = [:]
    }

    private func load(_ record: LoadRecord) throws {
        do { try make(record) } catch let failure as LoadFailure { try reject(failure) } catch let error as CoreError {
            for each in error.leaves { try reject(LoadFailure(line: record.line, message: each.lineMessage)) }
        }
    }

    private func make(_ record: LoadRecord) throws {
        let draft = try draft(of: record, try entity(of: record))
        var made: [MadeObject] = []
        try create(draft, &made)
        do { try connect(made, record.line) } catch {
            // A failure is not expected here, because links were checked before. The batch is repeated without the
            // line.
            try repeatBatch(with: records)
            throw error
        }
        try note(made, record.line)
        lineCount += 1
        if rules.keepsGoing { records.append(record) }
    }

    /// Returns the entity of a record.
    ///
    /// - Parameter usual: The entity of a record that does not name one.
    func entity(of record: LoadRecord, _ usual: Entity? = nil) throws -> Entity {
        guard let name = record.entityName ?? usual?.name else {
            if let entity = rules.entity { return entity }
            throw LoadFailure(
                line: record.line,
                message: "the record does not have an entity; add --entity NAME, or a key or column @entity")
        }
        do {
            let entity = try model.requireEntity(named: name)
            guard !entity.isAbstract else {
                let hasConcrete = model.entities.contains { !$0.isAbstract && $0.isKind(of: entity) }
                throw LoadFailure(
                    line: record.line,
                    message: "\(name) is abstract and cannot have objects"
                        + (hasConcrete ? "; use one of its subentities" : ""))
            }
            return entity
        } catch let error as CoreError { throw LoadFailure(line: record.line, message: error.message) }
    }

    /// Sets attributes. If a value is rejected, the object is restored.
    ///
    /// - Returns: A function that restores the object later.
    func set(
        _ values: [(Attribute, PropertyValue)], of object: ManagedObject, isNew: Bool
    ) throws -> () throws -> Void {
        let hadChanges = object.hasChanges
        var former: [(Attribute, PropertyValue)] = []
        func restore() throws {
            // Other objects do not refer to a new object yet.
            if isNew { return try context.delete(object) }
            for (attribute, value) in former.reversed() { try object.setValue(value, forKeyPath: attribute.path) }
            if !hadChanges { try context.refresh(object, mergeChanges: false) }
        }
        do {
            for (attribute, value) in values {
                if !isNew { former.append((attribute, try object.value(forKeyPath: attribute.path))) }
                try object.setValue(value, forKeyPath: attribute.path)
            }
            try validate(object, object.objectID.entity, isNew: object.isInserted)
        } catch {
            try restore()
            throw error
        }
        return restore
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
            try resolveLinks(isEnd: false)
            incomplete.removeAll { !lacksRelationship($0.object, $0.object.objectID.entity) }
            // The whole batch waits until incomplete objects are complete.
            if !incomplete.isEmpty { return }
        }
        try save()
    }

    /// Sets relationships of this batch to objects of later lines.
    private func resolveLinks(isEnd: Bool) throws {
        var rest: [(ManagedObject, PendingLink)] = []
        for (owner, each) in pendingLinksOfBatch {
            let found = try each.names.map { ($0, try object(named: $0)) }
            if found.contains(where: { $0.1 == nil }) {
                guard isEnd else {
                    rest.append((owner, each))
                    continue
                }
                for (name, object) in found where object == nil { try rejectDangling(each, name) }
            }
            let members = found.compactMap(\.1)
            do {
                try check(members, each.relationship, found.filter { $0.1 != nil }.map(\.0))
                try set(.members(each.relationship, members), of: owner, each.line)
            } catch let error as CoreError {
                try reject(LoadFailure(line: each.line, message: error.lineMessage))
            }
        }
        pendingLinksOfBatch = rest
    }

    private func rejectDangling(_ link: PendingLink, _ name: String) throws {
        let failure = LoadFailure(
            line: link.line,
            message:
                "\(link.relationship.entity.name).\(link.relationship.name) refers to \"\(name)\", which is not "
                + (name.hasPrefix("x-coredata://") ? "the URI of an object in the store" : "the @id of a loaded object")
                + "\(rules.keepsGoing ? " and is omitted" : ""); load the object, or correct the reference"
        )
        try rejectOnce(failure)
    }

    /// Reports a failure only once, because a batch can be repeated.
    private func rejectOnce(_ failure: LoadFailure) throws {
        if missing.insert(Text("\(failure.line): \(failure.message)")).inserted { try reject(failure) }
    }

    private func save() throws {
        while !batchObjects.isEmpty || context.hasChanges {
            do {
                try context.save()
                return try didSave()
            } catch let error as CoreError { try removeInvalidLines(error) }
        }
    }

    private func didSave() throws {
        inserted += counts.inserted
        updated += counts.updated
        lastSaved = batchObjects.last?.line ?? lastSaved
        for (name, object) in batchObjectsByName { saved[name] = object.objectID }
        for each in batchObjects where !each.path.isEmpty { countedIDs.insert(each.object.objectID) }
        // The objects have permanent IDs now.
        for (owner, each) in pendingLinksOfBatch {
            pendingLinks.append(
                PendingLink(owner: owner.objectID, relationship: each.relationship, names: each.names, line: each.line))
        }
        clearBatch()
        try context.reset()
    }

    /// Reports missing required relationships, which a save would reject.
    private func rejectIncomplete() throws {
        for (object, line) in incomplete where lacksRelationship(object, object.objectID.entity) {
            do { try object.validateForInsert() } catch let error as CoreError {
                for each in error.leaves { try reject(LoadFailure(line: line, message: each.lineMessage)) }
            }
        }
    }

    private func clearBatch() {
        (batchObjectsByName, batchObjectsByValues, batchObjects, records, pendingLinksOfBatch, incomplete) = (
            [:], [:], [], [], [], []
        )
        (lineCount, countedIDsOfBatch) = (0, [])
        searches.removeAll()
        counts = (0, 0)
    }

    /// Repeats the batch with only these lines.
    private func repeatBatch(with lines: [LoadRecord]) throws {
        clearBatch()
        try context.reset()
        for record in lines { try load(record) }
        try resolveLinks(isEnd: false)
    }

    // MARK: Lines that a save rejects

    /// Leaves out the lines that prevent the batch from being saved.
    private func removeInvalidLines(_ error: CoreError) throws {
        let wrong = certainBlame(blame(for: error))
        for each in wrong { try reject(LoadFailure(line: batchObjects[each.place].line, message: each.message)) }
        guard wrong.isEmpty else {
            let places = Set(wrong.map { batchObjects[$0.place].record })
            return try repeatBatch(with: records.enumerated().filter { !places.contains($0.offset) }.map(\.element))
        }
        // Other errors, such as a full disk, are not caused by a line.
        guard !records.isEmpty, error.status == .validation || error.status == .conflict else { throw error }
        guard records.count > 1 else {
            for each in error.leaves { try reject(LoadFailure(line: records[0].line, message: each.lineMessage)) }
            return try repeatBatch(with: [])
        }
        // The batch is halved to find the few invalid lines.
        let half = records.count / 2
        let (first, second) = (Array(records[..<half]), Array(records[half...]))
        try repeatBatch(with: first)
        try save()
        try repeatBatch(with: second)
    }

    /// An object that caused a save to fail. The object `earlier` has the same unique values.
    private typealias Blame = (place: Int, earlier: Int?, message: String)

    /// Removes uncertain blame: duplicates of lines that may be left out themselves.
    ///
    /// Such lines have other errors or need a missing object. The next save shows whether the duplicates are valid.
    private func certainBlame(_ blamed: [Blame]) -> [Blame] {
        let places = Set(blamed.map { batchObjects[$0.place].record })
        func isRetained(_ earlier: Int) -> Bool { !places.contains(batchObjects[earlier].record) }
        let sure = blamed.filter { each in
            guard let earlier = each.earlier else { return true }
            return isRetained(earlier)
                && !batchObjects[earlier].object.objectID.entity.relationships.contains {
                    !$0.isOptional && !$0.isTransient
                }
        }
        if !sure.isEmpty { return sure }
        let likely = blamed.filter { $0.earlier.map(isRetained) ?? true }
        return likely.isEmpty ? Array(blamed.prefix(1)) : likely
    }

    private func blame(for error: CoreError) -> [Blame] {
        let conflicts = error.conflicts.compactMap { $0 as? ConstraintConflict }
        let leaves = conflicts.isEmpty ? error.leaves : []
        let wanted = Set(conflicts.flatMap { $0.objectIDs.map(\.uri) } + leaves.compactMap(\.objectURI))
        // If several lines change one object, the last one is left out first.
        var places: [String: Int] = [:]
        for (place, each) in batchObjects.enumerated() where !wanted.isEmpty {
            let uri = each.object.objectID.uri
            if wanted.contains(uri) { places[uri] = place }
        }
        let alternative = rules.upserts ? "" : ", or add --upsert to update the existing object"
        var result: [Blame] = []
        for conflict in conflicts {
            var found = conflict.objectIDs.compactMap { places[$0.uri] }.sorted()
            var other = conflict.databaseObjectID.map { "\($0.dumpName) of the store" } ?? "another line"
            var earlier: Int?
            if conflict.databaseObjectID == nil, found.count > 1 {
                earlier = found[0]
                other = "\(batchObjects[found[0]].line)"
                found.removeFirst()
            }
            let isSingle = conflict.constraint.count == 1
            for place in found {
                let entity = batchObjects[place].object.objectID.entity.name
                let values = conflict.constraint.map {
                    "\(entity).\($0) (\(conflict.constraintValues[$0]?.excerpt ?? "null"))"
                }
                result.append(
                    (
                        place, earlier,
                        batchObjects[place].path
                            + "\(values.joined(separator: " and ")) \(isSingle ? "is" : "are") also in \(other), "
                            + "but \(isSingle ? "" : "their combination ")must be unique; "
                            + "change \(isSingle ? "the value" : "one of the values")\(alternative)"
                    ))
            }
        }
        for leaf in leaves {
            if let place = leaf.objectURI.flatMap({ places[$0] }) {
                result.append((place, nil, batchObjects[place].path + leaf.lineMessage))
            }
        }
        return result.sorted { $0.place < $1.place }
    }

    /// Sets relationships of saved objects to objects of later lines.
    private func resolveLinksOfSavedObjects() throws {
        let all = pendingLinks[...]
        pendingLinks = []
        let size = rules.batchSize ?? max(all.count, 1)
        for start in stride(from: 0, to: all.count, by: size) {
            try resolveLinks(saved: all[start..<min(start + size, all.count)])
        }
    }

    private func resolveLinks(saved links: ArraySlice<PendingLink>) throws {
        for each in links {
            let owner = try context.object(with: each.owner)
            var (names, members) = ([String](), [ManagedObject]())
            for name in each.names {
                if let member = try object(named: name) {
                    names.append(name)
                    members.append(member)
                } else {
                    try rejectDangling(each, name)
                }
            }
            do {
                try check(members, each.relationship, names)
                try set(.members(each.relationship, members), of: owner, each.line)
            } catch let error as CoreError {
                try rejectOnce(LoadFailure(line: each.line, message: error.lineMessage))
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
                    try rejectOnce(
                        LoadFailure(
                            line: link.line,
                            message:
                                "\(link.relationship.entity.name).\(link.relationship.name) is omitted, and the rest "
                                + "of the record is loaded: \(each.lineMessage)"
                        ))
                }
                return
            }
            // The links are halved to find the few invalid ones.
            let half = links.startIndex + links.count / 2
            try resolveLinks(saved: links[..<half])
            return try resolveLinks(saved: links[half...])
        }
        try context.reset()
    }
}
