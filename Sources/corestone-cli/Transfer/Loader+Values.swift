import Corestone

// Attribute values of lines, and existing objects with these values.

extension Loader {
    func values(of record: LoadRecord, _ entity: Entity) throws -> [(Attribute, PropertyValue)] {
        var result: [(Attribute, PropertyValue)] = []
        var failures: [CoreError] = []
        func add(_ key: String, _ field: LoadField) throws {
            guard let property = entity.property(named: key) else {
                if lookup(key, entity) != nil || rules.skipsUnknown { return }
                // A table of several entities has columns that only some of them have.
                if case .text(nil) = field, isKnown(key, inFamilyOf: entity) { return }
                throw unknown(key, field, entity)
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

    private func unknown(_ key: String, _ field: LoadField, _ entity: Entity) -> CoreError {
        let hint = nearestName(to: key, among: entity.properties.map(\.path)).map { "; did you mean \"\($0)\"? Use" }
        var remedy = "--skip-unknown to ignore unknown properties"
        if case .text = field { remedy = "--map to rename the column, or \(remedy)" }
        return CoreError(
            .invalidArgument, "\(entity.name) does not have a property \"\(key)\"\(hint ?? "; use") \(remedy)",
            entity: entity.name, key: key, value: field.content)
    }

    /// Validates an object, except for its relationships, which later lines may change.
    func validate(_ object: ManagedObject, _ entity: Entity, isNew: Bool) throws {
        do { try isNew ? object.validateForInsert() : object.validateForUpdate() } catch let error as CoreError {
            let failures = error.leaves.filter { failure in
                !(failure.key.map { entity.property(named: $0) is Relationship } ?? false)
            }
            if failures.isEmpty { return }
            throw failures.count == 1 ? failures[0] : CoreError(.validation, "", children: failures)
        }
    }

    // MARK: Unique values

    /// A line's values for a unique constraint.
    struct UniqueKey: Hashable {
        /// The entity with the constraint.
        let entity: UInt32
        let names: [String]
        let values: [PropertyValue]
    }

    func uniqueKeys(_ entity: Entity, _ values: [(Attribute, PropertyValue)]) -> [UniqueKey] {
        var keys: [UniqueKey] = []
        var byName: [String: PropertyValue] = [:]
        for (attribute, value) in values where byName[attribute.path] == nil { byName[attribute.path] = value }
        var owner: Entity? = entity
        while let each = owner {
            for constraint in each.uniqueConstraints {
                let found = constraint.compactMap { byName[$0] }
                guard found.count == constraint.count, !found.contains(where: \.isNull) else { continue }
                keys.append(UniqueKey(entity: each.index, names: constraint, values: found))
            }
            owner = each.parent
        }
        return keys
    }

    /// Returns the object that has the unique values of a line, or nil if no object has them.
    func existing(_ entity: Entity, _ values: [(Attribute, PropertyValue)]) throws -> ManagedObject? {
        for key in uniqueKeys(entity, values) {
            let known = try batchObjectsByValues[key].flatMap { try has(key, $0) ? $0 : nil }
            guard let object = try known ?? stored(key), try has(key, object) else { continue }
            let found = object.objectID.entity
            guard found.isKind(of: entity) else {
                let taken = zip(key.names, key.values).map {
                    "\(entity.name).\($0) (\($1.excerpt))"
                }
                throw CoreError(
                    .typeMismatch,
                    "the unique \(taken.count == 1 ? "value" : "values") of \(taken.joined(separator: " and ")) "
                        + "\(taken.count == 1 ? "belongs" : "belong") to an object of \(found.name), not of \(entity.name); "
                        + "use the entity \(found.name), or change \(taken.count == 1 ? "the value" : "one of the values")",
                    entity: entity.name, key: key.names[0], value: key.values[0], objectURI: object.objectID.uri)
            }
            return object
        }
        return nil
    }

    private func stored(_ key: UniqueKey) throws -> ManagedObject? {
        let owner = model.entities[Int(key.entity)]
        let request = FetchRequest(
            entity: owner,
            predicate: try .and(
                zip(key.names, key.values).map { try Predicate.parse("%K == %@", arguments: [.string($0), $1]) }),
            limit: 1)
        request.includesPendingChanges = false
        return try context.fetch(request).first
    }

    /// Whether the object still has the values, which an earlier line may have changed.
    private func has(_ key: UniqueKey, _ object: ManagedObject) throws -> Bool {
        try zip(key.names, key.values).allSatisfy { try object.value(forKeyPath: $0) == $1 }
    }
}
