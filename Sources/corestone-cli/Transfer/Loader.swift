import Corestone

/// Makes objects of what files say, and saves them some at a time.
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
        var batchSize = 1000
    }

    /// What an object is called in a file; most names are those of a dump, which take no memory of their own.
    private enum Name: Hashable {
        case number(UInt32, Int64)
        case text(String)
    }

    /// A relationship to objects that come further down.
    private struct Later {
        let owner: ObjectID
        let relationship: Relationship
        let names: [String]
        let line: FilePlace
    }

    private let context: Context
    private let store: Store
    private let model: Model
    var rules: Rules
    /// Told of lines that are left out; throws to end it.
    let refuse: (LoadFailure) throws -> Void

    private(set) var inserted = 0
    private(set) var updated = 0
    /// Objects that are saved, by name.
    private var saved: [Name: ObjectID] = [:]
    /// Objects of this batch.
    private var fresh: [Name: ManagedObject] = [:]
    private var freshByValues: [String: ManagedObject] = [:]
    private var batch: [LoadRecord] = []
    private var later: [Later] = []
    private var laterOfBatch: [(owner: ManagedObject, what: Later)] = []
    /// Objects that lack a required relationship as yet.
    private var incomplete: [(object: ManagedObject, line: FilePlace)] = []
    private var counts = (inserted: 0, updated: 0)

    init(_ coordinator: Coordinator, _ rules: Rules, refuse: @escaping (LoadFailure) throws -> Void) throws {
        guard let store = coordinator.stores.first else { throw CoreError(.internal, "the store was not kept") }
        (self.store, model, self.rules, self.refuse) = (store, coordinator.model, rules, refuse)
        context = Context(coordinator: coordinator)
    }

    // MARK: Lines

    func add(_ record: LoadRecord) throws {
        do {
            try make(record)
            batch.append(record)
        } catch let failure as LoadFailure {
            try refuse(failure)
        } catch let error as CoreError {
            for each in error.leaves { try refuse(LoadFailure(line: record.line, message: each.lineMessage)) }
        }
        if batch.count >= rules.batchSize, batch.count % rules.batchSize == 0 { try saveIfComplete() }
    }

    /// Saves what is left.
    func finish() throws {
        try settle(isEnd: true)
        if rules.isTrial { try refuseIncomplete() }
        try save()
        try settleSaved()
        fresh = [:]
    }

    private func make(_ record: LoadRecord) throws {
        let entity = try entity(of: record)
        let name = record.name.map { self.name($0) }
        if let name, saved[name] != nil || fresh[name] != nil {
            throw LoadFailure(
                line: record.line,
                message: "the name \(record.name ?? "") is that of an object before it; give each @id once")
        }
        let values = try values(of: record, entity)
        let former = rules.upserts ? try existing(entity, values) : nil
        let object = try former ?? context.insert(entity)
        let laterCount = laterOfBatch.count
        do {
            for (attribute, value) in values { try object.setValue(value, forKeyPath: attribute.path) }
            for (key, field) in record.fields {
                if let relationship = entity.property(named: key) as? Relationship, !relationship.isTransient {
                    try set(relationship, of: object, field, record.line)
                } else if let (relationship, attribute) = lookup(key, entity) {
                    try set(relationship, of: object, bySearching: attribute, field, record.line)
                }
            }
            try validate(object, entity, isNew: former == nil)
        } catch {
            laterOfBatch.removeLast(laterOfBatch.count - laterCount)
            if former == nil { try? context.delete(object) } else { try? context.refresh(object, mergeChanges: false) }
            throw error
        }
        if let name { fresh[name] = object }
        if rules.upserts { for key in uniqueKeys(entity, values) { freshByValues[key.text] = object } }
        if former == nil { counts.inserted += 1 } else { counts.updated += 1 }
        if lacksRelationship(object, entity) { incomplete.append((object, record.line)) }
    }

    private func entity(of record: LoadRecord) throws -> Entity {
        guard let name = record.entityName else {
            if let entity = rules.entity { return entity }
            throw LoadFailure(
                line: record.line, message: "says not of which entity it is: name it with --entity, or in @entity")
        }
        do {
            let entity = try model.requireEntity(named: name)
            guard !entity.isAbstract else {
                throw LoadFailure(
                    line: record.line,
                    message: "\(name) is abstract, so there are no objects of it; name an entity that inherits from it")
            }
            return entity
        } catch let error as CoreError { throw LoadFailure(line: record.line, message: error.message) }
    }

    // MARK: Attributes

    private func values(of record: LoadRecord, _ entity: Entity) throws -> [(Attribute, PropertyValue)] {
        var result: [(Attribute, PropertyValue)] = []
        var failures: [CoreError] = []
        func add(_ key: String, _ field: LoadField) throws {
            guard let property = entity.property(named: key) else {
                if lookup(key, entity) != nil || rules.skipsUnknown { return }
                let hint = nearestName(to: key, among: entity.properties.map(\.path)).map {
                    "; did you mean \"\($0)\"?"
                }
                throw CoreError(
                    .invalidArgument,
                    "\(entity.name) has no property \"\(key)\"\(hint ?? "")"
                        + "; --map gives a column another name, --skip-unknown passes over such", entity: entity.name,
                    key: key)
            }
            guard let attribute = property as? Attribute else { return }
            if attribute.type == .composite, case .value(.dictionary(let parts)) = field {
                for (part, value) in parts { try add("\(key).\(part)", .value(value)) }
            } else if attribute.type != .composite, !attribute.isTransient, attribute.derivation == nil,
                let value = try LoadConversion.value(field, for: attribute)
            {
                result.append((attribute, value))
            }
        }
        for (key, field) in record.fields {
            do { try add(key, field) } catch let error as CoreError { failures.append(error) }
        }
        guard failures.isEmpty else {
            throw failures.count == 1 ? failures[0] : CoreError(.validation, "", children: failures)
        }
        return result
    }

    /// All but what relationships lack, which may come further down.
    private func validate(_ object: ManagedObject, _ entity: Entity, isNew: Bool) throws {
        do { try isNew ? object.validateForInsert() : object.validateForUpdate() } catch let error as CoreError {
            let failures = error.leaves.filter { failure in
                !(failure.key.map { entity.property(named: $0) is Relationship } ?? false)
            }
            if failures.isEmpty { return }
            throw failures.count == 1 ? failures[0] : CoreError(.validation, "", children: failures)
        }
    }

    // MARK: Unique values

    private func uniqueKeys(
        _ entity: Entity, _ values: [(Attribute, PropertyValue)]
    ) -> [(text: String, owner: Entity, names: [String], values: [PropertyValue])] {
        var keys: [(String, Entity, [String], [PropertyValue])] = []
        var owner: Entity? = entity
        while let each = owner {
            for constraint in each.uniqueConstraints {
                let found = constraint.compactMap { name in values.first { $0.0.path == name }?.1 }
                guard found.count == constraint.count, !found.contains(where: \.isNull) else { continue }
                let text = ([each.name] + constraint + found.map { $0.plainText ?? "" }).map {
                    "\($0.utf8.count):\($0)"
                }
                keys.append((text.joined(), each, constraint, found))
            }
            owner = each.parent
        }
        return keys
    }

    /// The object that has the unique values of a line; nil when none has.
    private func existing(_ entity: Entity, _ values: [(Attribute, PropertyValue)]) throws -> ManagedObject? {
        for key in uniqueKeys(entity, values) {
            if let object = freshByValues[key.text] { return object }
            let request = FetchRequest(
                entity: key.owner,
                predicate: try .and(
                    zip(key.names, key.values).map { try Predicate.parse("%K == %@", arguments: [.string($0), $1]) }),
                limit: 1)
            request.includesPendingChanges = false
            if let object = try context.fetch(request).first { return object }
        }
        return nil
    }

    // MARK: Relationships

    /// A dump's own names without the text.
    private func name(_ text: String) -> Name {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, parts[1].first == "p", let key = Int64(parts[1].dropFirst()), key > 0,
            "\(parts[0])/p\(key)" == text, let entity = model.entity(named: String(parts[0]))
        {
            return .number(entity.index, key)
        }
        return .text(text)
    }

    private func object(named text: String) throws -> ManagedObject? {
        let name = name(text)
        if let object = fresh[name] { return object }
        if let id = saved[name] { return try context.object(with: id) }
        if text.hasPrefix("x-coredata://"), let id = try? context.coordinator.objectID(forURI: text) {
            return try context.existingObject(with: id)
        }
        return nil
    }

    private func set(_ relationship: Relationship, of object: ManagedObject, _ field: LoadField, _ line: FilePlace)
        throws
    {
        guard let names = field.references, relationship.isToMany || names.count < 2 else {
            throw CoreError(
                .typeMismatch,
                "\(relationship.entity.name).\(relationship.name) takes "
                    + (relationship.isToMany ? "a list of names of objects" : "the name of an object, its @id"),
                entity: relationship.entity.name, key: relationship.name)
        }
        var members: [ManagedObject] = []
        for name in names {
            guard let member = try self.object(named: name) else {
                laterOfBatch.append(
                    (object, Later(owner: object.objectID, relationship: relationship, names: names, line: line)))
                // Those that are there already may be what the object needs.
                if relationship.isOrdered { return }
                continue
            }
            members.append(member)
        }
        try set(members, of: relationship, object)
    }

    private func set(_ members: [ManagedObject], of relationship: Relationship, _ object: ManagedObject) throws {
        if let stranger = members.first(where: {
            !relationship.destination.withDescendants.contains($0.objectID.entity)
        }) {
            throw CoreError(
                .typeMismatch,
                "\(relationship.entity.name).\(relationship.name) leads to \(relationship.destination.name), and not to "
                    + "\(stranger.objectID.entity.name)", entity: relationship.entity.name, key: relationship.name)
        }
        if !relationship.isToMany {
            try object.setValue(members.first.map { .object($0) } ?? .null, forKey: relationship.name)
        } else if relationship.isOrdered {
            try object.setMembers(members, of: relationship.name)
        } else if relationship.inverse?.isToMany == false || !members.isEmpty {
            // What the inverse said before stays.
            for member in members { try object.add(member, to: relationship.name) }
        }
    }

    /// A column such as `folder.name`: the object of that name.
    private func lookup(_ key: String, _ entity: Entity) -> (Relationship, Attribute)? {
        let parts = key.split(separator: ".").map { String($0) }
        guard parts.count == 2, let relationship = entity.property(named: parts[0]) as? Relationship,
            !relationship.isToMany, let attribute = relationship.destination.property(named: parts[1]) as? Attribute
        else { return nil }
        return (relationship, attribute)
    }

    private func set(
        _ relationship: Relationship, of object: ManagedObject, bySearching attribute: Attribute, _ field: LoadField,
        _ line: FilePlace
    ) throws {
        guard let value = try LoadConversion.value(field, for: attribute), !value.isNull else {
            return try object.setValue(.null, forKey: relationship.name)
        }
        let request = FetchRequest(
            entity: relationship.destination,
            predicate: try Predicate.parse("%K == %@", arguments: [.string(attribute.name), value]),
            limit: 2)
        let found = try context.fetch(request)
        guard found.count == 1 else {
            throw CoreError(
                .invalidArgument,
                "\(relationship.entity.name).\(relationship.name): \(found.isEmpty ? "no" : "more than one") \(relationship.destination.name) "
                    + "has the \(attribute.name) \"\(value.plainText ?? "")\"", entity: relationship.entity.name,
                key: relationship.name)
        }
        try object.setValue(.object(found[0]), forKey: relationship.name)
    }

    private func lacksRelationship(_ object: ManagedObject, _ entity: Entity) -> Bool {
        entity.relationships.contains { relationship in
            guard !relationship.isOptional, !relationship.isTransient else { return false }
            if relationship.isToMany { return (try? object.memberCount(relationship.name)) ?? 0 == 0 }
            return (try? object.value(forKey: relationship.name))?.isNull ?? true
        }
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
            var members: [ManagedObject] = []
            var missing: String?
            for name in each.names {
                if let member = try object(named: name) { members.append(member) } else { missing = missing ?? name }
            }
            if let missing {
                guard isEnd else {
                    rest.append((owner, each))
                    continue
                }
                try refuse(dangling(each, missing))
            }
            do { try set(members, of: each.relationship, owner) } catch let error as CoreError {
                try refuse(LoadFailure(line: each.line, message: error.lineMessage))
            }
        }
        laterOfBatch = rest
    }

    private func dangling(_ later: Later, _ name: String) -> LoadFailure {
        LoadFailure(
            line: later.line,
            message:
                "\(later.relationship.entity.name).\(later.relationship.name) leads to \(name), which is no @id of the files; it is left out"
        )
    }

    private func save() throws {
        guard !batch.isEmpty || context.hasChanges else { return }
        if rules.isTrial {
            keepNames()
            return
        }
        do { try context.save() } catch let error as CoreError {
            guard !batch.isEmpty else { throw error }
            return try saveOneByOne(error)
        }
        try didSave()
    }

    private func didSave() throws {
        inserted += counts.inserted
        updated += counts.updated
        for (name, object) in fresh { saved[name] = object.objectID }
        // The objects have permanent IDs now.
        for (owner, each) in laterOfBatch {
            later.append(
                Later(owner: owner.objectID, relationship: each.relationship, names: each.names, line: each.line))
        }
        forgetBatch()
        try context.reset()
    }

    private func keepNames() {
        inserted += counts.inserted
        updated += counts.updated
        batch = []
        counts = (0, 0)
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
        (fresh, freshByValues, batch, laterOfBatch, incomplete) = ([:], [:], [], [], [])
        counts = (0, 0)
    }

    /// Of objects that cannot be saved together, finds out which cannot.
    private func saveOneByOne(_ error: CoreError) throws {
        let records = batch
        forgetBatch()
        try context.reset()
        if records.count == 1 {
            for each in error.leaves { try refuse(LoadFailure(line: records[0].line, message: each.lineMessage)) }
            return
        }
        // Halves first: of many lines a few are wrong.
        for half in [records.prefix(records.count / 2), records.suffix(records.count - records.count / 2)] {
            for record in half {
                do {
                    try make(record)
                    batch.append(record)
                } catch let failure as LoadFailure {
                    try refuse(failure)
                } catch let error as CoreError {
                    for each in error.leaves { try refuse(LoadFailure(line: record.line, message: each.lineMessage)) }
                }
            }
            try settle(isEnd: false)
            try save()
        }
    }

    /// Relationships from objects that are saved to ones that came behind them.
    private func settleSaved() throws {
        var count = 0
        for each in later {
            let owner = try context.object(with: each.owner)
            var members: [ManagedObject] = []
            for name in each.names {
                if let member = try object(named: name) {
                    members.append(member)
                } else {
                    try refuse(dangling(each, name))
                }
            }
            do { try set(members, of: each.relationship, owner) } catch let error as CoreError {
                try refuse(LoadFailure(line: each.line, message: error.lineMessage))
            }
            count += 1
            if count % rules.batchSize == 0 {
                try context.save()
                try context.reset()
            }
        }
        later = []
        if context.hasChanges, !rules.isTrial { try context.save() }
    }
}

extension [Entity] {
    fileprivate func contains(_ entity: Entity) -> Bool { contains { $0 === entity } }
}
