import CorestoneFormats
import CorestoneValues

extension CompiledModelWriter {
    func write(_ property: Property, of entity: Entity) throws {
        guard let number = properties[place(entity, property)] else { return }
        try write(property, of: entity, as: number)
    }

    private func write(_ property: Property, of entity: Entity, as number: UInt32) throws {
        var fields: [String: PropertyListValue] = [
            "NSPropertyName": archiver.string(property.name), "NSEntity": reference(entity),
            "NSRenamingIdentifier": archiver.string(property.renamingIdentifier ?? property.name),
            "_P": .integer(privateFlags(property)),
        ]
        if property.isOptional { fields["NSIsOptional"] = .bool(true) }
        if property.isTransient || property is FetchedProperty { fields["NSIsTransient"] = .bool(true) }
        if property.isReadOnly { fields["NSIsReadOnly"] = .bool(true) }
        if property.isIndexedBySpotlight { fields["NSIndexedBySpotlight"] = .bool(true) }
        if !property.userInfo.isEmpty { fields["NSUserInfo"] = userInfo(property.userInfo) }
        if let modifier = property.versionHashModifier { fields["NSVersionHashModifier"] = archiver.string(modifier) }
        if !property.validationRules.isEmpty { fields.merge(try validation(property, of: entity)) { old, _ in old } }
        switch property {
        case let attribute as Attribute:
            try describe(attribute, of: entity, &fields)
            archiver.fill(number, ClassName(attribute.archiveClasses + ["NSPropertyDescription"]), fields)
        case let relationship as Relationship:
            describe(relationship, &fields)
            archiver.fill(number, ClassName("NSRelationshipDescription", "NSPropertyDescription"), fields)
        case let property as FetchedProperty:
            fields["NSFetchRequest"] = try fetchRequest(
                property.fetchRequest, "the fetched property \(entity.name).\(property.name)", of: entity.name,
                key: property.name)
            fields["_NSFetchRequestEntityName"] = archiver.string(property.fetchRequest.entityName)
            archiver.fill(number, ClassName("NSFetchedPropertyDescription", "NSPropertyDescription"), fields)
        default: break
        }
    }

    /// Returns the private flags, as in all known files of Apple's framework.
    ///
    /// By bit: 0 always, 1 optional, 2 read-only, 3 transient, 4 and 5 no validation predicates, 6 no user info, 7 no
    /// version hash modifier, 8 indexed by Spotlight, 10 ordered.
    private func privateFlags(_ property: Property) -> Int64 {
        var flags: Int64 = 1
        if property.isOptional { flags |= 1 << 1 }
        if property.isReadOnly { flags |= 1 << 2 }
        if property.isTransient || property is FetchedProperty { flags |= 1 << 3 }
        if property.validationRules.isEmpty { flags |= 0b110000 }
        if property.userInfo.isEmpty { flags |= 1 << 6 }
        if property.versionHashModifier == nil { flags |= 1 << 7 }
        if property.isIndexedBySpotlight { flags |= 1 << 8 }
        if (property as? Relationship)?.isOrdered == true { flags |= 1 << 10 }
        return flags
    }

    /// Returns the validation rules as two parallel lists.
    private func validation(_ property: Property, of entity: Entity) throws -> [String: PropertyListValue] {
        var (predicates, warnings): ([PropertyListValue], [PropertyListValue]) = ([], [])
        for rule in property.validationRules {
            predicates.append(
                try predicate(
                    rule.predicate, "a validation predicate of \(entity.name).\(property.path)", of: entity.name,
                    key: property.path))
            switch rule.warning {
            case .code(let code): warnings.append(archiver.add(.integer(code)))
            case .text(let text): warnings.append(archiver.string(text))
            }
        }
        return ["NSValidationPredicates": archiver.array(predicates), "NSValidationWarnings": archiver.array(warnings)]
    }

    private func describe(
        _ attribute: Attribute, of entity: Entity, _ fields: inout [String: PropertyListValue]
    ) throws {
        fields["NSAttributeType"] = .integer(Int64(attribute.type.rawValue))
        fields["NSAttributeValueClassName"] = archiver.string(attribute.valueClassName ?? attribute.type.valueClassName)
        fields["NSDefaultValue"] = archiver.value(attribute.defaultValue)
        fields["NSValueTransformerName"] = archiver.string(attribute.valueTransformerName)
        fields["NSFlagsKey"] = .integer(
            (attribute.allowsExternalStorage ? 4 : 0) | (attribute.preservesValueInHistory ? 16 : 0))
        if let derivation = attribute.derivation {
            let owner = "the derivation of \(entity.name).\(attribute.path)"
            fields["NSDerivationExpression"] = try expression(
                derivation.expression, owner, of: entity.name, key: attribute.path)
            fields["NSFilteringPredicate"] = try predicate(
                derivation.filter, owner, of: entity.name, key: attribute.path)
        }
        if attribute.type == .composite {
            let elements = try attribute.elements.map { element in
                let number = archiver.reserve()
                try write(element, of: entity, as: number)
                return PropertyListValue.uid(number)
            }
            fields["NSElements"] = archiver.array(elements)
        }
        let isIndexed = attribute.entity.indexes.contains { $0.isPlain && $0.elements[0].property == attribute.name }
        if isIndexed { fields["NSIsIndexed"] = .bool(true) }
    }

    private func describe(_ relationship: Relationship, _ fields: inout [String: PropertyListValue]) {
        fields["NSDestinationEntity"] = reference(relationship.destination)
        fields["_NSDestinationEntityName"] = archiver.string(relationship.destination.name)
        fields["NSInverseRelationship"] =
            relationship.inverse.map { reference($0, of: $0.entity) } ?? KeyedArchiver.null
        fields["_NSInverseRelationshipName"] = archiver.string(relationship.inverse?.name)
        fields["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
        fields["NSMinCount"] = .integer(Int64(Int32(bitPattern: relationship.minimumCount)))
        fields["NSMaxCount"] = .integer(Int64(Int32(bitPattern: relationship.maximumCount)))
        if relationship.isOrdered { fields["NSIsOrdered"] = .bool(true) }
    }
}

extension Property {
    /// Whether the property is computed and cannot be set.
    fileprivate var isReadOnly: Bool { self is FetchedProperty || (self as? Attribute)?.derivation != nil }
}

extension Attribute {
    fileprivate var archiveClasses: [String] {
        if derivation != nil { return ["NSDerivedAttributeDescription", "NSAttributeDescription"] }
        if type == .composite { return ["NSCompositeAttributeDescription", "NSAttributeDescription"] }
        return ["NSAttributeDescription"]
    }
}

extension AttributeType {
    /// The class of a value in Apple's framework; nil for transformable and undefined attributes.
    var valueClassName: String? {
        switch self {
        case .undefined, .transformable: nil
        case .objectID: "NSManagedObjectID"
        case .composite: "NSDictionary"
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
