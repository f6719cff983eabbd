import Corestone

// Objects of a line: the object of the line itself, and those of the records in its relationships.
//
// A line is first checked as a whole. Then its objects are inserted or updated, and undone if one of them is rejected.
// Relationships are set last, so that the deletion of a new object does not apply delete rules.
extension Loader {
    /// A checked record.
    struct Draft {
        let entity: Entity
        let name: Name?
        /// The object that the `@id` of a nested record names.
        let named: ManagedObject?
        let values: [(Attribute, PropertyValue)]
        let links: [Link]
        /// The place within the line; see `BatchObject.path`.
        let path: String
    }

    /// The object of a draft.
    struct MadeObject {
        let object: ManagedObject
        let draft: Draft
        let isNew: Bool
        /// For each link with records, the indexes of their objects in the list of objects.
        var nested: [[Int?]] = []
    }

    // MARK: Checking

    /// Checks a record of a line.
    ///
    /// - Parameter path: The place within the line; empty for the line itself.
    func draft(of record: LoadRecord, _ entity: Entity, path: String = "") throws -> Draft {
        let name = record.name.map { self.name($0) }
        var (entity, named) = (entity, ManagedObject?.none)
        if let text = record.name, let name {
            if path.isEmpty, saved[name] != nil || batchObjectsByName[name] != nil {
                throw LoadFailure(
                    line: record.line,
                    message: "the @id \"\(text)\" belongs to an earlier object; use each @id once")
            }
            named = path.isEmpty ? nil : try object(named: text)
            if let found = named?.objectID.entity {
                guard found.isKind(of: entity) else {
                    throw CoreError(
                        .typeMismatch,
                        "the @id \"\(text)\" belongs to an object of \(found.name), not of \(entity.name); correct the "
                            + "@id, or leave it out",
                        entity: entity.name, key: "@id", value: .string(text))
                }
                entity = found
            }
        }
        return Draft(
            entity: entity, name: name, named: named, values: try values(of: record, entity),
            links: try links(of: record, entity, path: path), path: path)
    }

    /// Checks the value of a relationship that contains records.
    func targets(
        of relationship: Relationship, _ items: [PropertyValue], _ field: LoadField, _ line: FilePlace,
        within outer: String
    ) throws -> [Target] {
        let isList = if case .value(.array) = field { true } else { false }
        guard relationship.isToMany ? isList : items.count == 1 else { throw unsuitable(relationship, field) }
        var (targets, failures) = ([Target](), [CoreError]())
        for (place, item) in items.enumerated() {
            let path = "\(relationship.entity.name).\(relationship.name)\(isList ? "[\(place)]" : "")"
            do {
                guard case .dictionary(let members) = item else {
                    guard let name = LoadField.value(item).references(isToMany: false)?.first else {
                        throw unsuitable(relationship, .value(item))
                    }
                    try check(object(named: name).map { [$0] } ?? [], relationship, [name])
                    targets.append(.name(name))
                    continue
                }
                targets.append(try target(of: relationship, LoadRecord(members, line), "\(outer)\(path): "))
            } catch let error as CoreError {
                failures += error.leaves.map { $0.within(path) }
            } catch let failure as LoadFailure {
                failures.append(CoreError(.validation, "\(path): \(failure.message)"))
            }
        }
        guard failures.isEmpty else { throw CoreError(.validation, "", children: failures) }
        return targets
    }

    private func target(of relationship: Relationship, _ record: LoadRecord, _ path: String) throws -> Target {
        // A record with only an @id is a reference, possibly to a later line.
        if let name = record.name, record.fields.isEmpty {
            try check(object(named: name).map { [$0] } ?? [], relationship, [name])
            return .name(name)
        }
        let destination = relationship.destination
        let entity = try entity(of: record, destination)
        guard entity.isKind(of: destination) else {
            throw CoreError(
                .typeMismatch,
                "@entity is \"\(entity.name)\", which does not inherit from \(destination.name); use a subentity of "
                    + "\(destination.name), or leave out @entity",
                entity: destination.name, key: "@entity", value: .string(entity.name))
        }
        return .draft(try draft(of: record, entity, path: path))
    }

    // MARK: Inserting and updating

    /// Inserts or updates the objects of a draft. If one is rejected, all of them are restored.
    func create(_ draft: Draft, _ made: inout [MadeObject]) throws {
        var undo: [() throws -> Void] = []
        do { _ = try create(draft, &made, &undo) } catch {
            for step in undo.reversed() { try step() }
            throw error
        }
    }

    /// Returns the index of the object in the list.
    private func create(
        _ draft: Draft, _ made: inout [MadeObject], _ undo: inout [() throws -> Void]
    ) throws -> Int {
        let place = made.count
        do {
            let former =
                try draft.named
                ?? draft.name.flatMap { batchObjectsByName[$0] }.flatMap { object in
                    object.objectID.entity.isKind(of: draft.entity) ? object : nil
                }
                ?? (rules.upserts ? existing(draft.entity, draft.values) : nil)
            let object = try former ?? context.insert(draft.entity)
            // A reference to an object that the line does not change is not validated.
            if former == nil || !draft.values.isEmpty {
                undo.append(try set(draft.values, of: object, isNew: former == nil))
            }
            made.append(MadeObject(object: object, draft: draft, isNew: former == nil))
            if let name = draft.name {
                let other = batchObjectsByName.updateValue(object, forKey: name)
                undo.append { self.batchObjectsByName[name] = other }
            }
            if rules.upserts {
                for key in uniqueKeys(draft.entity, draft.values) {
                    let other = batchObjectsByValues.updateValue(object, forKey: key)
                    undo.append { self.batchObjectsByValues[key] = other }
                }
            }
        } catch let error as CoreError where !draft.path.isEmpty {
            let path = String(draft.path.dropLast(2))
            throw CoreError(.validation, "", children: error.leaves.map { $0.within(path) })
        }
        for link in draft.links {
            guard case .nested(_, let targets) = link else { continue }
            var places: [Int?] = []
            for target in targets {
                guard case .draft(let inner) = target else {
                    places.append(nil)
                    continue
                }
                places.append(try create(inner, &made, &undo))
            }
            made[place].nested.append(places)
        }
        return place
    }

    // MARK: Relationships

    /// Sets the relationships of the objects of a line.
    func connect(_ made: [MadeObject], _ line: FilePlace) throws {
        for each in made {
            var nested = each.nested[...]
            for link in each.draft.links {
                guard case .nested(let relationship, let targets) = link else {
                    try set(link, of: each.object, line)
                    continue
                }
                let objects = nested.removeFirst().map { $0.map { made[$0].object } }
                try connect(each.object, relationship, Array(zip(targets, objects)), line)
            }
        }
    }

    private func connect(
        _ owner: ManagedObject, _ relationship: Relationship, _ targets: [(Target, ManagedObject?)], _ line: FilePlace
    ) throws {
        let found = try targets.map { target, object in
            if case .name(let name) = target { (name, try self.object(named: name)) } else { ("", object) }
        }
        let members = found.compactMap(\.1)
        guard members.count < found.count else { return try set(members, of: relationship, owner) }
        // Until the other objects are loaded, the nested objects have names too, so that all members keep their order.
        let names = found.map { name, object in
            guard name.isEmpty, let object else { return name }
            ownNames += 1
            let own = "\u{0}\(ownNames)"
            batchObjectsByName[self.name(own)] = object
            return own
        }
        try set(.pending(relationship, names: names, found: members), of: owner, line)
    }

    /// Counts the objects of a line, and enters them into the lists of the batch.
    func note(_ made: [MadeObject], _ line: FilePlace) throws {
        for each in made {
            let isNested = !each.draft.path.isEmpty
            try searches.note(each.object)
            if each.isNew {
                counts.inserted += 1
            } else if !isNested {
                counts.updated += 1
                countedIDsOfBatch.insert(each.object.objectID)
            } else if !each.draft.values.isEmpty, !each.object.isInserted, !countedIDs.contains(each.object.objectID),
                countedIDsOfBatch.insert(each.object.objectID).inserted
            {
                counts.updated += 1
            }
            batchObjects.append(
                BatchObject(object: each.object, line: line, record: lineCount, path: each.draft.path))
        }
        for each in made where lacksRelationship(each.object, each.object.objectID.entity) {
            incomplete.append((each.object, line))
        }
    }
}

extension CoreError {
    /// Returns the error with the place of a nested record before its message.
    fileprivate func within(_ path: String) -> CoreError {
        CoreError(status, "\(path): \(lineMessage)", entity: entity, key: key, value: value, objectURI: objectURI)
    }
}
