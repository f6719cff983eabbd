import CorestoneValues

/// The check of the migration from one version of a model to the newest one.
struct MigrationStep {
    let from: MigrationGuard.Version
    let to: MigrationGuard.Version
    private let mapping: ModelMapping
    private let refusals: [MappingRefusal]
    private let renames: LikelyRenames
    private let known: [Model]
    private let related: [Model]
    private(set) var findings: [MigrationFinding] = []
    /// The parts that another finding already covers.
    private var explained: Set<ObjectIdentifier> = []
    private var reported: Set<[String?]> = []

    /// Creates the check of one migration.
    ///
    /// - Parameters:
    ///   - older: all versions of existing stores.
    ///   - related: other versions, for former names.
    ///   - between: the versions between `from` and `to`.
    init(
        from: MigrationGuard.Version, to: MigrationGuard.Version, typeChanges: TypeChanges, older: [Model],
        related: [Model], between: [Model]
    ) throws {
        (self.from, self.to, self.related, known) = (from, to, related, related + older)
        (mapping, refusals) = try ModelMapping.outcome(from: from.model, to: to.model, typeChanges: typeChanges)
        renames = LikelyRenames(mapping: mapping, known: known, between: between)
    }

    /// Checks the migration.
    ///
    /// - Parameter isLatest: whether `from` is the latest of the older versions. Removals and similar risks are
    ///   reported only in this case.
    mutating func check(isLatest: Bool, profile: LintProfile) {
        for refusal in refusals { add(refusal) }
        checkChains(isLatest: isLatest)
        for pair in mapping.entities where pair.kind == .add { checkIdentifier(of: pair) }
        for pair in mapping.entities where pair.source != nil && pair.destination != nil {
            for property in pair.added { checkIdentifier(of: property, pair) }
            if pair.kind == .copy { checkUnappliedRenames(pair) }
            checkRequired(pair)
        }
        guard isLatest else { return }
        checkRemovals()
        for pair in mapping.entities {
            guard let old = pair.source, let new = pair.destination else { continue }
            checkConstraints(old, new, pair)
            checkRelationships(pair)
            if new.isAbstract, !old.isAbstract {
                add(
                    .abstractEntity, new, nil,
                    "\(new.name) becomes abstract, so a migration fails with 134110 if the store has objects of "
                        + old.name,
                    "keep it concrete, or delete its objects in an earlier release")
            }
        }
        checkChangesWithoutEffect()
        if profile == .cloudKit { checkCloudKit() }
    }

    private mutating func add(
        _ rule: MigrationRule, _ entity: Entity?, _ key: String?, _ message: String, _ remedy: String,
        severity: LintFinding.Severity? = nil
    ) {
        guard reported.insert([rule.rawValue, entity?.name, key]).inserted else { return }
        findings.append(
            MigrationFinding(
                rule, severity, versions: [from.name], entity: entity?.name, key: key, message: message, remedy: remedy)
        )
    }

    private mutating func add(_ refusal: MappingRefusal) {
        let rule: MigrationRule =
            switch refusal.kind {
            case .ambiguousIdentifier: .ambiguousIdentifier
            case .typeChange: .typeChange
            case .other: .notInferable
            }
        let finding = MigrationFinding(rule, versions: [from.name], refusal.error)
        if reported.insert([rule.rawValue, finding.entity, finding.key]).inserted { findings.append(finding) }
    }
}

// MARK: - Identifiers

extension MigrationStep {
    private mutating func checkChains(isLatest: Bool) {
        var linter = Linter()
        linter.checkChains(in: to.model, after: (isLatest ? related : []) + [from.model])
        for finding in linter.findings {
            guard let entity = finding.entity.flatMap(to.model.entity(named:)) else { continue }
            let isChained = namesFormerPart(entity, finding.key)
            add(
                isChained ? .chainedIdentifier : .changedIdentifier, entity, finding.key, finding.message,
                finding.remedy)
            explain(entity, finding.key)
        }
    }

    /// Whether the renaming identifier is the name of an already renamed part of an earlier version.
    ///
    /// If not, the identifier differs from that in the earlier version, or is missing.
    private func namesFormerPart(_ entity: Entity, _ key: String?) -> Bool {
        guard let key else {
            return known.contains { model in
                entity.renamingIdentifier.flatMap(model.entity(named:)).map { $0.canonicalName != $0.name } ?? false
            }
        }
        let identifier = entity.ownProperty(named: key)?.renamingIdentifier
        return known.contains { model in
            model.entities.contains { candidate in
                candidate.canonicalName == entity.canonicalName
                    && candidate.storedTopProperties.contains { $0.name == identifier && $0.canonicalName != $0.name }
            }
        }
    }

    /// Marks the parts to which a chained identifier refers, which do not need a separate finding.
    private mutating func explain(_ entity: Entity, _ key: String?) {
        guard let key else {
            let named = entity.renamingIdentifier.flatMap(from.model.entity(named:))
            if let former = named ?? from.model.entity(named: entity.name) {
                explained.insert(ObjectIdentifier(former))
            }
            explained.insert(ObjectIdentifier(entity))
            return
        }
        guard let property = entity.ownProperty(named: key), let former = mapping.source(of: entity) else { return }
        let names = [property.renamingIdentifier, key]
        let identifiers = known.flatMap { model in
            model.entities.filter { $0.canonicalName == entity.canonicalName }.flatMap(\.storedTopProperties)
                .filter { names.contains($0.name) }.map(\.canonicalName)
        }
        for candidate in former.storedTopProperties
        where names.contains(candidate.name) || identifiers.contains(candidate.canonicalName) {
            explained.insert(ObjectIdentifier(candidate))
        }
        explained.insert(ObjectIdentifier(property))
    }

    private mutating func checkIdentifier(of pair: EntityPair) {
        guard let entity = pair.destination, !explained.contains(ObjectIdentifier(entity)) else { return }
        let identifier = entity.renamingIdentifier ?? ""
        if !identifier.isEmpty, known.contains(where: { $0.entities.contains { $0.canonicalName == identifier } }) {
            return
        }
        guard let origin = renames.origin(of: entity) else {
            if !identifier.isEmpty { addUnknown(entity, nil, entity.name, identifier, of: "the model") }
            return
        }
        explained.insert(ObjectIdentifier(origin.entity))
        addRename(
            entity, nil, entity.name, origin.entity.name, origin.reason, identifier, origin.entity.canonicalName,
            "objects")
    }

    private mutating func checkIdentifier(of property: Property, _ pair: EntityPair) {
        guard let entity = pair.destination, property.entity === entity,
            !explained.contains(ObjectIdentifier(property))
        else { return }
        let identifier = property.renamingIdentifier ?? ""
        if !identifier.isEmpty, isKnown(identifier, of: entity) { return }
        var origin = renames.origin(of: property, pair)
        if origin == nil, !identifier.isEmpty {
            let alike = pair.removed.filter { $0.entity === pair.source && renames.hasShape(of: property, $0) }
            let named = nearestName(to: identifier, among: alike.map(\.name))
            let near = alike.first { $0.name == named } ?? (alike.count == 1 ? alike[0] : nil)
            origin = near.map { ($0, "the same \(property is Relationship ? "destination" : "type")") }
        }
        let shown = "\(entity.name).\(property.path)"
        guard let origin else {
            if !identifier.isEmpty { addUnknown(entity, property.path, shown, identifier, of: entity.name) }
            return
        }
        explained.formUnion([ObjectIdentifier(origin.property), ObjectIdentifier(property)])
        addRename(
            entity, property.path, shown, "\(origin.property.entity.name).\(origin.property.path)", origin.reason,
            identifier, origin.property.canonicalName, "values")
    }

    private mutating func addRename(
        _ entity: Entity, _ key: String?, _ shown: String, _ former: String, _ reason: String, _ identifier: String,
        _ wanted: String, _ lost: String
    ) {
        let remedy = "set the renaming identifier of \(shown) to \"\(wanted)\""
        guard identifier.isEmpty else {
            return add(
                .unknownIdentifier, entity, key,
                "\(shown) looks like \(former) (\(reason)), but has the unknown renaming identifier "
                    + "\"\(identifier)\", so a migration loses the \(lost) of \(former)", remedy)
        }
        add(
            .missingIdentifier, entity, key,
            "\(shown) looks like \(former) (\(reason)), but does not have a renaming identifier, so a "
                + "migration loses the \(lost) of \(former)", remedy)
    }

    private mutating func addUnknown(
        _ entity: Entity, _ key: String?, _ shown: String, _ identifier: String, of owner: String
    ) {
        add(
            .unknownIdentifier, entity, key,
            "\(shown) has the renaming identifier \"\(identifier)\", which earlier versions of \(owner) do not have",
            "correct or remove it, unless a version that is not checked has it", severity: .note)
    }

    /// Reports properties of one type whose names were exchanged.
    ///
    /// The version hash does not change, so stores are not migrated and each name keeps its values.
    private mutating func checkUnappliedRenames(_ pair: EntityPair) {
        guard let old = pair.source, let new = pair.destination else { return }
        for property in new.storedTopProperties where property.entity === new {
            guard
                let former = old.storedTopProperties.first(where: { $0.canonicalName == property.canonicalName }),
                former.name != property.name
            else { continue }
            add(
                .unappliedRename, new, property.name,
                "\(new.name).\(property.name) has the renaming identifier of \(old.name).\(former.name), but "
                    + "\(new.name) has the same version hash, so stores are not migrated and "
                    + "\(new.name).\(property.name) keeps its values",
                "set a version hash modifier of \(new.name)")
        }
    }

    private func isKnown(_ identifier: String, of entity: Entity) -> Bool {
        known.contains { model in
            model.entities.contains { candidate in
                candidate.canonicalName == entity.canonicalName
                    && candidate.storedTopProperties.contains {
                        $0.canonicalName == identifier || $0.name == identifier
                    }
            }
        }
    }
}

// MARK: - Values

extension MigrationStep {
    /// Reports required properties without a value in existing objects.
    private mutating func checkRequired(_ pair: EntityPair) {
        guard let old = pair.source, !old.isAbstract else { return }
        for property in pair.added where !property.isOptional && !explained.contains(ObjectIdentifier(property)) {
            require(property, was: nil)
        }
        for both in pair.properties where both.source.isOptional && !both.destination.isOptional {
            require(both.destination, was: both.source)
        }
    }

    private mutating func require(_ property: Property, was former: Property?) {
        let (entity, shown) = (property.entity, "\(property.entity.name).\(property.path)")
        let change = former == nil ? "is new and required" : "was optional and is required now"
        guard let attribute = property as? Attribute else {
            return add(
                .requiredRelationship, entity, property.path,
                "\(shown) \(change), so existing objects without a target cannot be saved",
                "make it optional, or set it for every object after the migration")
        }
        guard attribute.defaultValue.isNull, attribute.derivation == nil else { return }
        add(
            .requiredWithoutDefault, entity, attribute.path,
            "\(shown) \(change), but does not have a default value, so a migration fails with 134110 if "
                + (former == nil ? "the store has objects" : "a value is missing"),
            "set a default value, or make it optional")
    }

    private mutating func checkRemovals() {
        for pair in mapping.entities {
            guard let old = pair.source else { continue }
            if pair.destination == nil {
                if explained.contains(ObjectIdentifier(old)) || old.isAbstract { continue }
                add(
                    .removedEntity, old, nil, "\(old.name) is removed, so a migration deletes its objects",
                    "keep the entity, or copy its objects in an earlier release")
                continue
            }
            // An abstract entity does not have objects.
            for property in pair.removed where !old.isAbstract && !explained.contains(ObjectIdentifier(property)) {
                if (property as? Attribute)?.derivation != nil { continue }
                let isTransient = pair.destination?.anyProperty(named: property.name)?.isTransient == true
                add(
                    .removedProperty, property.entity, property.path,
                    "\(property.entity.name).\(property.path) \(isTransient ? "becomes transient" : "is removed"), so a "
                        + "migration deletes its values", "keep the property, or copy its values in an earlier release")
            }
        }
    }

    private mutating func checkConstraints(_ old: Entity, _ new: Entity, _ pair: EntityPair) {
        let former = old.uniqueConstraints.map { names in
            Set(
                names.map { name in
                    pair.properties.first { $0.source.path == name }?.destination.path ?? name
                })
        }
        // Values that are unique for some attributes are also unique for these attributes combined with others.
        for constraint in new.uniqueConstraints where !former.contains(where: { $0.isSubset(of: constraint) }) {
            let names = constraint.joined(separator: ", ")
            add(
                .addedConstraint, new, constraint.joined(separator: ","),
                "\(new.name) gets a unique constraint for \(names), so a migration fails with 134111 if objects have equal values",
                "remove duplicates in an earlier release, and check real stores with corestone model check-migration "
                    + "--stores")
        }
    }

    private mutating func checkRelationships(_ pair: EntityPair) {
        for both in pair.properties {
            guard let from = both.source as? Relationship, let to = both.destination as? Relationship else { continue }
            let shown = "\(to.entity.name).\(to.name)"
            if from.isOrdered, to.isToMany, !to.isOrdered {
                add(
                    .removedOrder, to.entity, to.name,
                    "\(shown) is no longer ordered, so a migration deletes the order of its members",
                    "keep it ordered, or store the order in an attribute of the members")
            }
            guard let target = mapping.destination(of: from.destination), !target.isKind(of: to.destination) else {
                continue
            }
            add(
                .narrowedDestination, to.entity, to.name,
                "\(shown) had the destination \(from.destination.name) and has \(to.destination.name) now, so a migration "
                    + "removes objects of other entities from it",
                "keep the destination, or move these objects to another relationship first")
        }
    }

    /// Reports changes without effect, and changes whose only effect is a migration.
    private mutating func checkChangesWithoutEffect() {
        let changes = from.model.changes(to: to.model)
        let hashed = changes.filter(\.changesHash)
        if hashed.isEmpty {
            for change in changes where change.part == .index && !change.isEditorial {
                guard let entity = change.entity.flatMap(to.model.entity(named:)) else { continue }
                add(
                    .indexOnly, entity, change.name,
                    "the index \"\(change.name ?? "")\" of \(entity.name) changed, but the version hashes did not, so "
                        + "existing stores keep their indexes",
                    "set a version hash modifier of \(entity.name), which makes stores migrate")
            }
        }
        for entity in to.model.entities {
            let own = hashed.filter { $0.entity == entity.name }
            guard !own.isEmpty, own.allSatisfy({ $0.field == "versionHashModifier" }) else { continue }
            add(
                .modifierOnly, entity, nil,
                "only version hash modifiers of \(entity.name) changed, so a migration copies the objects of "
                    + "\(entity.name) without changes",
                "undo the change, unless the migration is intended")
        }
    }

    private mutating func checkCloudKit() {
        func refuse(_ entity: Entity, _ key: String?, _ change: String, _ remedy: String) {
            add(
                .cloudKitNotAdditive, entity, key,
                "\(change), but CloudKit's production schema keeps every record type and field", remedy)
        }
        for pair in mapping.entities {
            guard let old = pair.source else { continue }
            guard let new = pair.destination else {
                refuse(old, nil, "\(old.name) is removed", "keep the entity")
                continue
            }
            if old.name != new.name {
                refuse(
                    new, nil, "\(new.name) is renamed from \(old.name)",
                    "keep \(old.name), and add \(new.name) as a new entity")
            }
            for property in pair.removed where property.entity === old {
                refuse(old, property.path, "\(old.name).\(property.path) is removed", "keep the property")
            }
            for both in pair.properties where both.destination.entity === new {
                let shown = "\(new.name).\(both.destination.path)"
                if both.source.path != both.destination.path {
                    refuse(
                        new, both.destination.path, "\(shown) is renamed from \(both.source.path)",
                        "keep \(both.source.path), and add \(both.destination.path) as a new property")
                } else if both.typeChange != nil {
                    refuse(
                        new, both.destination.path, "\(shown) has another type", "keep the type, or add a new attribute"
                    )
                }
            }
        }
    }
}
