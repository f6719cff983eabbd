import CorestoneFormats
import CorestoneValues

extension Model {
    /// Merges models into one. Equal parts of several models are added once.
    ///
    /// Configurations of the same name are united, and so are version identifiers. If several models localise one key,
    /// the text of the last model is used.
    ///
    /// - Throws: `.model` if entities or fetch requests of the same name differ. For entities, the message states the
    ///   difference.
    public static func merging(_ models: [Model]) throws -> Model {
        let merged = Model()
        for model in models { try merged.add(model.entities) }
        for model in models { try merged.addRest(of: model) }
        return merged
    }

    /// Reassembles the model of a store from entities of several models by version hash. Freezes these models.
    ///
    /// - Parameters:
    ///   - hashes: the version hashes in the store's metadata, by entity.
    ///   - store: the path of the store, for errors.
    /// - Throws: `.modelMismatch` if entities of the store are not in any model with the same hash. The message names
    ///   all of them.
    public static func merging(
        _ models: [Model], forHashes hashes: [String: [UInt8]], ofStoreAt store: String? = nil
    ) throws -> Model {
        let merged = Model()
        var missing: [String] = []
        let candidates = try models.map { model in
            try model.freeze()
            return (model: model, hashes: entityVersionHashes(of: model))
        }
        var chosen: [ObjectIdentifier: [Entity]] = [:]
        for (name, hash) in hashes.sorted(by: { $0.key < $1.key }) {
            guard let found = candidates.first(where: { $0.hashes[name] == hash }),
                let entity = found.model.entity(named: name)
            else {
                missing.append(name)
                continue
            }
            chosen[ObjectIdentifier(found.model), default: []].append(entity)
        }
        guard missing.isEmpty else {
            throw CoreError(
                .modelMismatch, code: .migrationMissingSourceModel, describe(missing, in: models.count, store),
                entity: missing[0], file: store)
        }
        // All entities are added together, because the destination of a relationship may be from another model.
        do {
            try ModelCopier(merged).add(models.flatMap { chosen[ObjectIdentifier($0)] ?? [] })
        } catch let error as CoreError where error.file == nil {
            throw store.map { error.within("cannot merge the entities of \($0)", file: $0) } ?? error
        }
        return merged
    }

    /// Returns the error message for entities that no model contains in the version of the store.
    private static func describe(_ missing: [String], in count: Int, _ store: String?) -> String {
        let (version, verb) = missing.count == 1 ? ("version", "is") : ("versions", "are")
        let subject =
            store.map { "the \(version) of \(missing.listed) in \($0)" }
            ?? "the store's \(version) of \(missing.listed)"
        let place =
            count == 0 ? "the empty list of models" : count == 1 ? "the model" : "any of the \(count) models"
        return "\(subject) \(verb) not in \(place); add the model with which the store was written"
    }

    private func add(_ entities: [Entity]) throws {
        var new: [Entity] = []
        for entity in entities {
            guard let known = self.entity(named: entity.name) else {
                new.append(entity)
                continue
            }
            if let (key, text) = known.difference(from: entity) {
                throw modelError(text, entity: entity.name, key: key)
            }
        }
        try ModelCopier(self).add(new)
    }

    private func addRest(of model: Model) throws {
        for identifier in model.versionIdentifiers { try addVersionIdentifier(identifier) }
        for (name, template) in model.fetchRequestTemplates {
            if let known = fetchRequestTemplates[name], known != template {
                throw modelError(
                    "two models to merge have different fetch request templates named \"\(name)\"; rename one of them",
                    entity: template.entityName, key: name)
            }
            try setFetchRequestTemplate(template, forName: name)
        }
        for configuration in model.configurations {
            let known = self.configuration(named: configuration.name)
            let names = known?.entityNames ?? []
            try upsertConfiguration(
                ModelConfiguration(
                    name: configuration.name,
                    entityNames: names + configuration.entityNames.filter { !names.contains($0) },
                    isUsedWithCloudKit: configuration.isUsedWithCloudKit || known?.isUsedWithCloudKit == true))
        }
        for (key, text) in model.localization { try setLocalization(text, forKey: key) }
    }
}

// MARK: - Differences

extension Entity {
    /// Returns the path and the message of the first difference of two entities of the same name.
    ///
    /// Returns nil if they are equal. The order of properties and the extras of source models are ignored.
    fileprivate func difference(from other: Entity) -> (key: String, text: String)? {
        let (mine, theirs) = (described, other.described)
        for key in sortedByBytes(Set(mine.keys).union(theirs.keys)) {
            let (one, two) = (mine[key] ?? .null, theirs[key] ?? .null)
            if one == two { continue }
            return (
                key,
                "two models to merge have different entities named \"\(name)\": \(key) is \(one.phrase) in one and \(two.phrase) "
                    + "in the other; make the two entities equal, or rename one"
            )
        }
        return nil
    }

    /// All settings by path: `abstract`, `name.optional`.
    private var described: [String: PropertyValue] {
        var fields: [String: PropertyValue] = [:]
        func add(_ path: String, _ value: PropertyValue) {
            for (key, value) in value.fields where !key.hasPrefix("extras.") {
                fields[path.isEmpty ? key : "\(path).\(key)"] = value
            }
        }
        guard case .dictionary(var own) = summary else { return fields }
        for list in ["attributes", "relationships", "fetchedProperties", "indexes"] {
            guard case .array(let elements)? = own.removeValue(forKey: list) else { continue }
            for case .dictionary(var element) in elements {
                guard case .text(let name)? = element.removeValue(forKey: "name") else { continue }
                element["kind"] = .string(list)
                add(name.string, .dictionary(element))
            }
        }
        add("", .dictionary(own))
        return fields
    }
}

extension PropertyValue {
    fileprivate var phrase: String { isNull ? "missing" : excerpt }
}
