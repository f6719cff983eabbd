import CorestoneFormats
import CorestoneValues

/// The two forms of a compiled model. They differ in a few containers and in the listed properties.
public enum CompiledModelForm: Sendable {
    /// A `.mom` file, as Xcode's compiler writes it.
    case file
    /// `Z_MODELCACHE` of a store, as the framework writes it.
    case cache
}

/// Encodes the model as a keyed archive that Apple's framework can read (docs/reference/model.md, "Writing models").
///
/// The model does not have to be frozen. In a store, an entity lists inherited properties too; in a file, it lists only
/// its own. All known files of Apple's framework have these forms.
///
/// - Throws: `.model` for a predicate or expression that cannot be parsed or archived.
public func compiledModel(_ model: Model, form: CompiledModelForm = .cache) throws -> [UInt8] {
    try CompiledModelWriter(model: model, form: form).encoded()
}

/// A writer that archives a model as an `NSManagedObjectModel`.
final class CompiledModelWriter {
    typealias ClassName = KeyedArchiver.ClassName

    /// A property in the list of an entity, including an inherited property.
    struct PropertyPlace: Hashable {
        let entity: ObjectIdentifier
        let property: ObjectIdentifier
    }

    let model: Model
    let form: CompiledModelForm
    let archiver = KeyedArchiver()
    private let root: UInt32
    private var entities: [ObjectIdentifier: UInt32] = [:]
    private(set) var properties: [PropertyPlace: UInt32] = [:]
    private lazy var noUserInfo = archiver.dictionary([])

    init(model: Model, form: CompiledModelForm) {
        self.model = model
        self.form = form
        root = archiver.reserve()
    }

    func encoded() throws -> [UInt8] {
        let names = sortedByBytes(model.entities.map(\.name))
        let sorted = names.compactMap { model.entity(named: $0) }
        for entity in sorted { entities[ObjectIdentifier(entity)] = archiver.reserve() }
        for entity in sorted {
            for property in listed(entity) {
                properties[place(entity, property)] = archiver.reserve()
            }
        }
        for entity in sorted { try write(entity) }
        var fields: [String: PropertyListValue] =
            [
                "NSEntities": form == .cache ? knownKeys(names, sorted) : dictionary(of: sorted),
                "NSFetchRequestTemplates": try templates(),
                "NSVersionIdentifiers": archiver.set(
                    model.versionIdentifiers.map { archiver.string($0) }, isMutable: form == .file),
            ]
        if !model.configurations.isEmpty { fields["NSConfigurations"] = configurations() }
        archiver.fill(root, ClassName("NSManagedObjectModel"), fields)
        return archiver.encoded(root: .uid(root))
    }

    /// Returns the dictionary with fixed keys that Apple's framework writes into a store.
    private func knownKeys(_ names: [String], _ sorted: [Entity]) -> PropertyListValue {
        let mapping = archiver.add(
            ClassName("NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy"),
            [
                "keys": archiver.array(names.map { archiver.string($0) }), "length": .integer(Int64(names.count)),
                "version": .integer(1),
            ])
        return archiver.add(
            ClassName("NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary"),
            [
                "searchMapping": mapping, "values": archiver.array(sorted.map { reference($0) }),
                "version": .integer(1),
                "emptyToken": archiver.string("__empty_slot_token_4c24_98dc_ac1e_b773__"),
            ])
    }

    private func dictionary(of entities: [Entity]) -> PropertyListValue {
        archiver.dictionary(entities.map { ($0.name, reference($0)) }, isMutable: true)
    }

    private func templates() throws -> PropertyListValue {
        guard !model.fetchRequestTemplates.isEmpty else { return KeyedArchiver.null }
        return archiver.dictionary(
            try sortedByBytes(model.fetchRequestTemplates.keys).compactMap { name in
                try model.fetchRequestTemplates[name].map {
                    (
                        name,
                        try fetchRequest($0, "the fetch request template \"\(name)\"", of: $0.entityName, key: name)
                    )
                }
            }, isMutable: true)
    }

    private func configurations() -> PropertyListValue {
        archiver.dictionary(
            model.configurations.map { configuration in
                let members = configuration.entityNames.compactMap { model.entity(named: $0) }
                return (configuration.name, archiver.set(members.map { reference($0) }))
            }, isMutable: true)
    }

    func place(_ entity: Entity, _ property: Property) -> PropertyPlace {
        PropertyPlace(entity: ObjectIdentifier(entity), property: ObjectIdentifier(property))
    }

    func reference(_ entity: Entity?) -> PropertyListValue {
        entity.flatMap { entities[ObjectIdentifier($0)] }.map { .uid($0) } ?? KeyedArchiver.null
    }

    func reference(_ property: Property, of entity: Entity) -> PropertyListValue {
        properties[place(entity, property)].map { .uid($0) } ?? KeyedArchiver.null
    }

    func userInfo(_ entries: [String: String]) -> PropertyListValue {
        guard !entries.isEmpty else { return noUserInfo }
        return archiver.dictionary(sortedByBytes(entries.keys).map { ($0, archiver.string(entries[$0])) })
    }

    // MARK: - Entities

    private func write(_ entity: Entity) throws {
        guard let number = entities[ObjectIdentifier(entity)] else { return }
        let listed = listed(entity).sorted { Text($0.name) < Text($1.name) }
        let all = entity.allProperties + entity.fetchedProperties
        let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let children = sortedByBytes(entity.children.map(\.name)).compactMap { model.entity(named: $0) }
        var fields: [String: PropertyListValue] = [
            "NSEntityName": archiver.string(entity.name),
            "NSClassNameForEntity": archiver.string(entity.className == "NSManagedObject" ? nil : entity.className),
            "NSManagedObjectModel": .uid(root),
            "NSProperties": archiver.dictionary(listed.map { ($0.name, reference($0, of: entity)) }, isMutable: true),
            "NSSubentities": dictionary(of: children),
            "NSSuperentity": reference(entity.parent),
            "NSUserInfo": userInfo(entity.userInfo),
            "NSVersionHashModifier": archiver.string(entity.versionHashModifier),
            "NSRenamingIdentifier": archiver.string(entity.renamingIdentifier ?? entity.name),
        ]
        if entity.isAbstract { fields["NSIsAbstract"] = .bool(true) }
        if !entity.uniqueConstraints.isEmpty {
            let tuples = entity.uniqueConstraints.map { names in
                archiver.array(names.map { archiver.string($0) }, isMutable: true)
            }
            fields["NSUniqueTuples"] = archiver.array(tuples, isMutable: true)
        }
        if !entity.indexes.isEmpty { fields.merge(try indexes(of: entity, byName)) { _, new in new } }
        archiver.fill(number, ClassName("NSEntityDescription"), fields)
        for property in listed { try write(property, of: entity) }
    }

    /// Returns the properties that the archive of an entity lists.
    private func listed(_ entity: Entity) -> [Property] {
        form == .cache
            ? entity.allProperties + entity.fetchedProperties : entity.ownProperties + entity.ownFetchedProperties
    }
}
