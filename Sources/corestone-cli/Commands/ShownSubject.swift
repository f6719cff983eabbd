import Corestone

/// The store or the model that `show` describes.
struct ShownSubject {
    struct Count {
        let all: Int
        /// The count without objects of subentities.
        let own: Int
    }

    enum Origin {
        case store(Store, StoreMetadata)
        case model([ModelVersion])
    }

    let path: String
    let model: Model
    /// The numbers of objects by entity name; nil for a model.
    let counts: [String: Count]?
    let origin: Origin

    func count(of entity: Entity) -> Count? { counts?[entity.name] }

    /// Returns the reason why the store could not be opened for writing, or nil if no reason was detected.
    static func obstacle(_ store: Store) -> String? {
        store.readOnlyReason == Store.isOpenForReading ? nil : store.readOnlyReason
    }

    /// Returns the source of the model as text.
    func words(for source: ModelSource) -> String {
        switch source {
        case .given: (model.versionName.map { "version \($0) of " } ?? "") + "the given model"
        case .cached: "its own model"
        case .inferred: "a model inferred from its tables"
        }
    }
}

// MARK: - JSON

extension ShownSubject {
    func json(_ entities: [Entity]) -> JSON {
        var members: [(String, JSON)] = [("entities", .array(entities.map(entityJSON)))]
        switch origin {
        case .store(let store, let metadata):
            members.append(("store", json(store, metadata)))
        case .model(let versions):
            let names = versions.map { JSON.object([("name", .string($0.name)), ("current", .bool($0.isCurrent))]) }
            members.append(("versions", .array(names)))
            members.append(
                (
                    "problems",
                    .array(
                        model.draftProblems.map { problem in
                            .object([
                                ("entity", .optional(problem.entity)), ("key", .optional(problem.key)),
                                ("message", .string(problem.message)),
                            ])
                        })
                ))
        }
        members.append(("versionIdentifiers", .array(model.versionIdentifiers.map { .string($0) })))
        members.append(
            (
                "configurations",
                .array(
                    model.configurations.map { configuration in
                        .object([
                            ("name", .string(configuration.name)),
                            ("entities", .array(configuration.entityNames.map { .string($0) })),
                        ])
                    })
            ))
        members.append(
            ("fetchRequests", .array(model.fetchRequestTemplates.keys.sorted().map { .string($0) })))
        return .object(members)
    }

    private func json(_ store: Store, _ metadata: StoreMetadata) -> JSON {
        .object([
            ("path", .string(store.path)), ("identifier", .string(store.identifier)),
            ("modelSource", .string("\(store.modelSource)")), ("modelVersion", .optional(model.versionName)),
            ("readOnlyReason", .optional(ShownSubject.obstacle(store))),
            ("type", .optional(metadata.storeType)),
            ("frameworkVersion", metadata.frameworkVersion == 0 ? .null : .number(Int(metadata.frameworkVersion))),
        ])
    }

    private func entityJSON(_ entity: Entity) -> JSON {
        .object([
            ("name", .string(entity.name)), ("parent", .optional(entity.parent?.name)),
            ("abstract", .bool(entity.isAbstract)),
            ("count", count(of: entity).map { .number($0.all) } ?? .null),
            ("ownCount", count(of: entity).map { .number($0.own) } ?? .null),
            ("class", .string(entity.className)),
            ("attributes", .array(entity.attributes.map { ShownSubject.json($0, of: entity) })),
            ("relationships", .array(entity.relationships.map { ShownSubject.json($0, of: entity) })),
            (
                "fetchedProperties",
                .array(
                    entity.fetchedProperties.map { property in
                        .object([
                            ("name", .string(property.name)),
                            ("destination", .string(property.fetchRequest.entityName)),
                            ("predicate", .optional(property.fetchRequest.predicate?.text)),
                        ])
                    })
            ),
            ("indexes", .array(entity.indexes.map(ShownSubject.json))),
            (
                "uniqueConstraints",
                .array(entity.uniqueConstraints.map { .array($0.map { .string($0) }) })
            ),
        ])
    }

    private static func json(_ attribute: Attribute, of entity: Entity) -> JSON {
        .object([
            ("name", .string(attribute.path)), ("type", .string(attribute.type.sourceName)),
            ("optional", .bool(attribute.isOptional)), ("transient", .bool(attribute.isTransient)),
            ("default", JSON(attribute.defaultValue)), ("derivation", .optional(attribute.derivation?.expression.text)),
            ("externalStorage", .bool(attribute.allowsExternalStorage)),
            ("inheritedFrom", .optional(attribute.entity === entity ? nil : attribute.entity.name)),
        ])
    }

    private static func json(_ relationship: Relationship, of entity: Entity) -> JSON {
        .object([
            ("name", .string(relationship.name)),
            (
                "destination",
                relationship.missingDestination.map { $0.isEmpty ? .null : .string($0) }
                    ?? .string(relationship.destination.name)
            ),
            ("inverse", .optional(relationship.inverse?.name)), ("toMany", .bool(relationship.isToMany)),
            ("ordered", .bool(relationship.isOrdered)), ("optional", .bool(relationship.isOptional)),
            ("deleteRule", .string("\(relationship.deleteRule)")),
            ("minimumCount", .number(Int(relationship.minimumCount))),
            ("maximumCount", relationship.maximumCount == 0 ? .null : .number(Int(relationship.maximumCount))),
            ("inheritedFrom", .optional(relationship.entity === entity ? nil : relationship.entity.name)),
        ])
    }

    private static func json(_ index: FetchIndex) -> JSON {
        .object([
            ("name", .string(index.name)),
            (
                "elements",
                .array(
                    index.elements.map { element in
                        .object([
                            ("property", .string(element.expression?.text ?? element.property)),
                            ("ascending", .bool(element.isAscending)),
                            ("type", .string("\(element.collation)")),
                        ])
                    })
            ),
            ("predicate", .optional(index.partialPredicate?.text)),
        ])
    }
}
