import CorestoneValues

/// Who reads the compiled model: the keys are the same, a few containers differ.
public enum CompiledModelForm: Sendable {
    /// A `.mom` file, as Xcode's compiler writes it.
    case file
    /// `Z_MODELCACHE` of a store, as the framework writes it.
    case cache
}

/// The model as a keyed archive that Apple's framework reads (store-format.md section 3).
///
/// The model may be frozen or not. Properties that an entity inherits are written out in full, as Apple's own files do.
public func compiledModel(_ model: Model, form: CompiledModelForm = .cache) -> [UInt8] {
    CompiledModelWriter(model: model, form: form).encoded()
}

private final class CompiledModelWriter {
    private typealias ClassName = KeyedArchiver.ClassName

    private struct PropertyPlace: Hashable {
        let entity: ObjectIdentifier
        let property: ObjectIdentifier
    }

    private let model: Model
    private let form: CompiledModelForm
    private let archiver = KeyedArchiver()
    private let root: UInt32
    private var entities: [ObjectIdentifier: UInt32] = [:]
    private var properties: [PropertyPlace: UInt32] = [:]
    private lazy var noUserInfo = archiver.dictionary([])

    init(model: Model, form: CompiledModelForm) {
        self.model = model
        self.form = form
        root = archiver.reserve()
    }

    func encoded() -> [UInt8] {
        let names = sortedByBytes(model.entities.map(\.name))
        let sorted = names.compactMap { model.entity(named: $0) }
        for entity in sorted { entities[ObjectIdentifier(entity)] = archiver.reserve() }
        for entity in sorted {
            for property in entity.allProperties { properties[place(entity, property)] = archiver.reserve() }
        }
        for entity in sorted { write(entity) }
        archiver.fill(
            root, ClassName("NSManagedObjectModel"),
            [
                "NSEntities": form == .cache ? knownKeys(names, sorted) : dictionary(of: sorted),
                "NSFetchRequestTemplates": KeyedArchiver.null,
                "NSVersionIdentifiers": archiver.set(
                    model.versionIdentifiers.map { archiver.string($0) }, isMutable: form == .file),
            ])
        return archiver.encoded(root: .uid(root))
    }

    /// The dictionary with fixed keys that the framework puts into a store.
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

    private func place(_ entity: Entity, _ property: Property) -> PropertyPlace {
        PropertyPlace(entity: ObjectIdentifier(entity), property: ObjectIdentifier(property))
    }

    private func reference(_ entity: Entity?) -> PropertyListValue {
        entity.flatMap { entities[ObjectIdentifier($0)] }.map { .uid($0) } ?? KeyedArchiver.null
    }

    private func reference(_ property: Property, of entity: Entity) -> PropertyListValue {
        properties[place(entity, property)].map { .uid($0) } ?? KeyedArchiver.null
    }

    private func userInfo(_ entries: [String: String]) -> PropertyListValue {
        guard !entries.isEmpty else { return noUserInfo }
        return archiver.dictionary(sortedByBytes(entries.keys).map { ($0, archiver.string(entries[$0])) })
    }

    // MARK: - Entities

    private func write(_ entity: Entity) {
        guard let number = entities[ObjectIdentifier(entity)] else { return }
        let all = entity.allProperties
        let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let sorted = sortedByBytes(byName.keys).compactMap { byName[$0] }
        let children = sortedByBytes(entity.children.map(\.name)).compactMap { model.entity(named: $0) }
        var fields: [String: PropertyListValue] = [
            "NSEntityName": archiver.string(entity.name),
            "NSClassNameForEntity": archiver.string(entity.className == "NSManagedObject" ? nil : entity.className),
            "NSManagedObjectModel": .uid(root),
            "NSProperties": archiver.dictionary(sorted.map { ($0.name, reference($0, of: entity)) }, isMutable: true),
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
        if !entity.indexes.isEmpty { fields.merge(indexes(of: entity, byName)) { _, new in new } }
        archiver.fill(number, ClassName("NSEntityDescription"), fields)
        for property in all { write(property, of: entity) }
    }

    /// Fetch indexes, and again those of several attributes in the older form that both files carry.
    private func indexes(of entity: Entity, _ byName: [String: Property]) -> [String: PropertyListValue] {
        let descriptions = entity.indexes.map { index in
            let number = archiver.reserve()
            let elements = index.elements.map { element in
                archiver.add(
                    ClassName("NSFetchIndexElementDescription"),
                    [
                        "NSPropertyName": archiver.string(element.property), "NSFetchIndexElementType": .integer(0),
                        "NSAscending": .bool(element.isAscending), "NSFetchIndexDescription": .uid(number),
                    ])
            }
            archiver.fill(
                number, ClassName("NSFetchIndexDescription"),
                [
                    "NSIndexName": archiver.string(index.name),
                    "NSIndexElements": archiver.array(elements, isMutable: true),
                    "NSPartialIndexPredicate": KeyedArchiver.null, "NSEntity": reference(entity),
                ])
            return PropertyListValue.uid(number)
        }
        let compound = entity.indexes.map { $0.elements.map(\.property) }.filter { names in
            names.count > 1 && names.allSatisfy { byName[$0] is Attribute }
        }
        return [
            "NSFetchIndexDescriptions": archiver.array(descriptions, isMutable: true),
            "NSCompoundIndexes": archiver.array(
                compound.map { archiver.array($0.map { archiver.string($0) }, isMutable: true) }, isMutable: true),
        ]
    }

    // MARK: - Properties

    private func write(_ property: Property, of entity: Entity) {
        guard let number = properties[place(entity, property)] else { return }
        var fields: [String: PropertyListValue] = [
            "NSPropertyName": archiver.string(property.name), "NSEntity": reference(entity),
            "NSRenamingIdentifier": archiver.string(property.renamingIdentifier ?? property.name),
            "_P": .integer(privateFlags(property)),
        ]
        if property.isOptional { fields["NSIsOptional"] = .bool(true) }
        if property.isTransient { fields["NSIsTransient"] = .bool(true) }
        if !property.userInfo.isEmpty { fields["NSUserInfo"] = userInfo(property.userInfo) }
        if let modifier = property.versionHashModifier { fields["NSVersionHashModifier"] = archiver.string(modifier) }
        if let attribute = property as? Attribute {
            describe(attribute, of: entity, &fields)
            archiver.fill(number, ClassName("NSAttributeDescription", "NSPropertyDescription"), fields)
        } else if let relationship = property as? Relationship {
            describe(relationship, &fields)
            archiver.fill(number, ClassName("NSRelationshipDescription", "NSPropertyDescription"), fields)
        }
    }

    /// What every file of Apple's says, bit for bit: 0 always, 1 optional, 3 transient, 4 and 5 without validation
    /// predicates, 6 without user info, 7 without a version hash modifier, 10 ordered.
    private func privateFlags(_ property: Property) -> Int64 {
        var flags: Int64 = 0b110001
        if property.isOptional { flags |= 1 << 1 }
        if property.isTransient { flags |= 1 << 3 }
        if property.userInfo.isEmpty { flags |= 1 << 6 }
        if property.versionHashModifier == nil { flags |= 1 << 7 }
        if (property as? Relationship)?.isOrdered == true { flags |= 1 << 10 }
        return flags
    }

    private func describe(_ attribute: Attribute, of entity: Entity, _ fields: inout [String: PropertyListValue]) {
        fields["NSAttributeType"] = .integer(Int64(attribute.type.rawValue))
        fields["NSAttributeValueClassName"] = archiver.string(attribute.type.valueClassName)
        fields["NSDefaultValue"] = archiver.value(attribute.defaultValue)
        fields["NSValueTransformerName"] = archiver.string(attribute.valueTransformerName)
        fields["NSFlagsKey"] = .integer(
            (attribute.allowsExternalStorage ? 4 : 0) | (attribute.preservesValueInHistory ? 16 : 0))
        let isIndexed = attribute.entity.indexes.contains { index in
            index.elements.count == 1 && index.elements[0].isAscending && index.elements[0].property == attribute.name
        }
        if isIndexed { fields["NSIsIndexed"] = .bool(true) }
    }

    private func describe(_ relationship: Relationship, _ fields: inout [String: PropertyListValue]) {
        fields["NSDestinationEntity"] = reference(relationship.destination)
        fields["_NSDestinationEntityName"] = archiver.string(relationship.destination.name)
        fields["NSInverseRelationship"] =
            relationship.inverse.map { reference($0, of: $0.entity) } ?? KeyedArchiver.null
        fields["_NSInverseRelationshipName"] = archiver.string(relationship.inverse?.name)
        fields["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
        fields["NSMinCount"] = .integer(Int64(relationship.minimumCount))
        fields["NSMaxCount"] = .integer(Int64(relationship.maximumCount))
        if relationship.isOrdered { fields["NSIsOrdered"] = .bool(true) }
    }
}

extension AttributeType {
    /// The class of a value in Apple's framework; nil for transformable and undefined attributes.
    var valueClassName: String? {
        switch self {
        case .undefined, .transformable: nil
        case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
        case .decimal: "NSDecimalNumber"
        case .string: "NSString"
        case .date: "NSDate"
        case .binary: "NSData"
        case .uuid: "NSUUID"
        case .uri: "NSURL"
        }
    }
}
