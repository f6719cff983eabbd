import CorestoneValues

extension Model {
    /// The whole model as lists and dictionaries, for tools and for applications that inspect a model.
    ///
    /// Most settings are omitted if they have their default.
    public var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["entities": .array(entities.map(\.summary))]
        fields["versionIdentifiers"] = .array(versionIdentifiers.map { .string($0) })
        fields["fetchRequests"] = .dictionary(fetchRequestTemplates.mapValues(\.summary))
        fields["configurations"] = .array(configurations.map(\.summary))
        fields.add("localization", localization)
        fields.add("extras", extras)
        return .dictionary(fields)
    }
}

extension Entity {
    /// The entity as a dictionary, without inherited properties.
    package var summary: PropertyValue {
        var fields: [String: PropertyValue] = [
            "name": .string(name), "parent": parent.map { .string($0.name) } ?? .null, "abstract": .bool(isAbstract),
            "attributes": .array(ownAttributes.map(\.summary)),
            "relationships": .array(ownRelationships.map(\.summary)),
            "fetchedProperties": .array(ownFetchedProperties.map(\.summary)),
            "indexes": .array(indexes.map(\.summary)),
            "uniqueConstraints": .array(uniqueConstraints.map { .array($0.map { .string($0) }) }),
        ]
        fields.add("className", className == "NSManagedObject" ? nil : className)
        fields.add("renamingIdentifier", renamingIdentifier)
        fields.add("versionHashModifier", versionHashModifier)
        fields.add("userInfo", userInfo)
        fields.add("extras", extras)
        return .dictionary(fields)
    }
}

extension Property {
    /// The property as a dictionary of its settings.
    package var summary: PropertyValue {
        switch self {
        case let attribute as Attribute: .dictionary(attribute.fields)
        case let relationship as Relationship: .dictionary(relationship.fields)
        case let fetched as FetchedProperty: .dictionary(fetched.fields)
        default: .dictionary(common)
        }
    }

    fileprivate var common: [String: PropertyValue] {
        var fields: [String: PropertyValue] = ["name": .string(name), "optional": .bool(isOptional)]
        fields.add("transient", isTransient)
        fields.add("indexedBySpotlight", isIndexedBySpotlight)
        fields.add("storedInExternalRecord", isStoredInExternalRecord)
        fields.add("renamingIdentifier", renamingIdentifier)
        fields.add("versionHashModifier", versionHashModifier)
        fields.add("userInfo", userInfo)
        fields.add("extras", extras)
        guard !validationRules.isEmpty else { return fields }
        fields["validation"] = .array(
            validationRules.map { rule in
                var fields: [String: PropertyValue] = ["predicate": .string(rule.predicate.text)]
                switch rule.warning {
                case .code(let code): fields["code"] = .int(code)
                case .text(let text): fields["message"] = .string(text)
                }
                return .dictionary(fields)
            })
        return fields
    }
}

extension Attribute {
    fileprivate var fields: [String: PropertyValue] {
        var fields = common
        fields["type"] = .string(type.displayName)
        if !defaultValue.isNull { fields["default"] = defaultValue }
        fields.add("derivation", derivation?.expression.text)
        fields.add("derivationFilter", derivation?.filter?.text)
        fields.add("composite", compositeName)
        if !elements.isEmpty { fields["elements"] = .array(elements.map(\.summary)) }
        fields.add("externalStorage", allowsExternalStorage)
        fields.add("preservedInHistory", preservesValueInHistory)
        fields.add("allowsNaN", allowsNaN)
        fields.add("ignoresChanges", ignoresChanges)
        fields.add("cloudEncryption", allowsCloudEncryption)
        fields.add("transformer", valueTransformerName)
        fields.add("valueClass", valueClassName)
        return fields
    }
}

extension Relationship {
    fileprivate var fields: [String: PropertyValue] {
        var fields = common
        fields["destination"] = .string(destination.name)
        fields["inverse"] = inverse.map { .string($0.name) } ?? .null
        fields["toMany"] = .bool(isToMany)
        fields["ordered"] = .bool(isOrdered)
        fields["deleteRule"] = .string(deleteRule.sourceText)
        if minimumCount > 0 { fields["minimumCount"] = .int(Int64(minimumCount)) }
        if isToMany, Int32(bitPattern: maximumCount) > 0 { fields["maximumCount"] = .int(Int64(maximumCount)) }
        return fields
    }
}

extension FetchedProperty {
    fileprivate var fields: [String: PropertyValue] {
        var fields = common
        fields["fetchRequest"] = fetchRequest.summary
        return fields
    }
}

extension ModelConfiguration {
    var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["name": .string(name)]
        fields["entities"] = .array(entityNames.map { .string($0) })
        fields.add("usedWithCloudKit", isUsedWithCloudKit)
        return .dictionary(fields)
    }
}

extension FetchIndex {
    var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["name": .string(name)]
        fields.add("predicate", partialPredicate?.text)
        fields["elements"] = .array(
            elements.map { element in
                var fields: [String: PropertyValue] = ["ascending": .bool(element.isAscending)]
                fields.add("expression", element.expression?.text)
                fields.add(
                    "expressionType", element.expressionType == .undefined ? nil : element.expressionType.displayName)
                if element.expression == nil { fields["property"] = .string(element.property) }
                fields.add("collation", element.collation == .rTree ? "RTree" : nil)
                return .dictionary(fields)
            })
        return .dictionary(fields)
    }
}

extension FetchRequestTemplate {
    var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["entity": .string(entityName)]
        fields.add("predicate", predicate?.text)
        let order = sortDescriptors.map { PropertyValue.string(($0.ascending ? "" : "-") + $0.keyPath) }
        if !order.isEmpty { fields["sort"] = .array(order) }
        for (name, number) in [("limit", limit), ("offset", offset), ("batchSize", batchSize)] where number > 0 {
            fields[name] = .int(Int64(number))
        }
        if resultType != .objects { fields["resultType"] = .int(resultType.rawValue) }
        if !includesSubentities { fields["includesSubentities"] = .bool(false) }
        if !includesPropertyValues { fields["includesPropertyValues"] = .bool(false) }
        if !returnsObjectsAsFaults { fields["returnsObjectsAsFaults"] = .bool(false) }
        fields.add("returnsDistinctResults", returnsDistinctResults)
        if !relationshipKeyPathsForPrefetching.isEmpty {
            fields["prefetch"] = .array(relationshipKeyPathsForPrefetching.map { .string($0) })
        }
        return .dictionary(fields)
    }
}

extension SourceElement {
    fileprivate var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["place": .int(Int64(place))]
        if name.isEmpty { fields["text"] = .string(text) } else { fields["name"] = .string(name) }
        fields.add("attributes", attributes)
        if !elements.isEmpty { fields["elements"] = .array(elements.map(\.summary)) }
        return .dictionary(fields)
    }
}

extension [String: PropertyValue] {
    fileprivate mutating func add(_ name: String, _ flag: Bool) { if flag { self[name] = .bool(true) } }
    fileprivate mutating func add(_ name: String, _ text: String?) { if let text { self[name] = .string(text) } }
    fileprivate mutating func add(_ name: String, _ entries: [String: String]) {
        if !entries.isEmpty { self[name] = .dictionary(entries.mapValues { .string($0) }) }
    }
    fileprivate mutating func add(_ name: String, _ extras: SourceExtras) {
        guard !extras.isEmpty else { return }
        var fields: [String: PropertyValue] = [:]
        fields.add("attributes", extras.attributes)
        if !extras.elements.isEmpty { fields["elements"] = .array(extras.elements.map(\.summary)) }
        self[name] = .dictionary(fields)
    }
}
