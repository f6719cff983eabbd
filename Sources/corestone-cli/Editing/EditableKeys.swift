import Corestone

// The keys are the attribute names of source models, so that a diff of the model shows the same names.

extension Model {
    /// Sets keys of the model.
    func edit(_ assignments: [Assignment]) throws {
        let extras = ["minimumToolsVersion", "sourceLanguage", "usedWithCloudKit", "usedWithSwiftData"].map { name in
            EditableKey<Model>(name) { model, assignment in
                var extras = model.extras
                extras.attributes[name] = assignment.text
                try model.setExtras(extras)
            }
        }
        let identifier = EditableKey<Model>("userDefinedModelVersionIdentifier") { model, assignment in
            for old in model.versionIdentifiers { try model.removeVersionIdentifier(old) }
            for new in assignment.value.split(separator: ",") { try model.addVersionIdentifier(String(new)) }
        }
        try EditableKey.apply(assignments, to: self, [identifier] + extras, and: "currentVersion", of: "a model")
    }
}

extension Entity {
    func edit(_ assignments: [Assignment]) throws {
        let (info, rest) = assignments.userInfo
        for (key, value) in info { try setUserInfo(value, forKey: key) }
        try EditableKey.apply(rest, to: self, Entity.keys, and: "userInfo.KEY", of: "an entity")
    }

    private static let keys: [EditableKey<Entity>] = [
        .init("representedClassName") { entity, assignment in
            let usual = "NSManagedObject"
            try entity.setClassName(assignment.text ?? usual)
            // The default class is not written, unless it was set explicitly.
            try entity.setExtra("representedClassName", assignment.text == usual ? usual : nil)
        },
        .init("isAbstract") { try $0.setAbstract(try $1.flag()) },
        .init("parentEntity") { entity, assignment in
            try entity.setParent(try assignment.text.map { try entity.model.requireEntity(named: $0) })
        },
        .init("elementID") { try $0.setRenamingIdentifier($1.text) },
        .init("versionHashModifier") { try $0.setVersionHashModifier($1.text) },
        .init("syncable") { try $0.setExtra("syncable", try $1.flag() ? "YES" : "NO") },
        .init("codeGenerationType") { entity, assignment in
            let choices = ["class", "category"].map { ($0, String?($0)) } + [("none", nil), ("", nil)]
            try entity.setExtra("codeGenerationType", try assignment.one(of: choices))
        },
    ]

    func setExtra(_ name: String, _ value: String?) throws {
        var extras = extras
        extras.attributes[name] = value
        try setExtras(extras)
    }
}

extension Property {
    /// Sets keys of a property, both common ones and those of its kind.
    func edit(_ assignments: [Assignment]) throws {
        let (info, rest) = assignments.userInfo
        for (key, value) in info { try setUserInfo(value, forKey: key) }
        let other = "userInfo.KEY"
        switch self {
        case let attribute as Attribute:
            try EditableKey.apply(rest, to: attribute, Attribute.keys + Property.keys(), and: other, of: "an attribute")
        case let relationship as Relationship:
            try EditableKey.apply(
                rest, to: relationship, Relationship.keys + Property.keys(), and: other, of: "a relationship")
        case let fetched as FetchedProperty:
            try EditableKey.apply(
                rest, to: fetched, FetchedProperty.keys + Property.keys(), and: other, of: "a fetched property")
        default: break
        }
    }

    fileprivate static func keys<Kind: Property>() -> [EditableKey<Kind>] {
        [
            .init("optional") { try $0.setOptional(try $1.flag()) },
            .init("transient") { try $0.setTransient(try $1.flag()) },
            .init("spotlightIndexingEnabled") { try $0.setIndexedBySpotlight(try $1.flag()) },
            .init("storedInTruthFile") { try $0.setStoredInExternalRecord(try $1.flag()) },
            .init("elementID") { try $0.setRenamingIdentifier($1.text) },
            .init("versionHashModifier") { try $0.setVersionHashModifier($1.text) },
            .init("syncable") { try $0.setExtra("syncable", $1.value.isEmpty ? nil : try $1.flag() ? "YES" : "NO") },
        ]
    }

    func setExtra(_ name: String, _ value: String?) throws {
        var extras = extras
        extras.attributes[name] = value
        try setExtras(extras)
    }
}

extension Attribute {
    fileprivate static let keys: [EditableKey<Attribute>] = [
        .init("attributeType") { try $0.setType(try AttributeType(editing: $1)) },
        .init("defaultValueString") { attribute, assignment in
            try attribute.setDefaultValue(try attribute.value(of: assignment) ?? .null)
        },
        .init("defaultDateTimeInterval") { attribute, assignment in
            try attribute.setDefaultValue(try attribute.value(of: assignment) ?? .null)
        },
        .init("minValueString") { try $0.edit(bound: $1, isLeast: true) },
        .init("maxValueString") { try $0.edit(bound: $1, isLeast: false) },
        .init("minDateTimeInterval") { try $0.edit(bound: $1, isLeast: true) },
        .init("maxDateTimeInterval") { try $0.edit(bound: $1, isLeast: false) },
        .init("regularExpressionString") { try $0.setPattern($1.text) },
        .init("derivationExpression") { attribute, assignment in
            try attribute.setDerivation(assignment.text.map { Derivation(ExpressionText($0)) })
        },
        .init("indexed") { attribute, assignment in
            let isIndexed = attribute.entity.indexes.contains {
                $0.isPlain && $0.elements[0].property == attribute.name
            }
            if try assignment.flag() == isIndexed { return }
            if isIndexed {
                try attribute.entity.removeIndex(named: attribute.name)
            } else {
                let index = FetchIndex(name: attribute.name, elements: [.init(property: attribute.name)])
                try attribute.entity.addIndex(index.spelt(.attribute))
            }
        },
        .init("usesScalarValueType") { attribute, assignment in
            try attribute.setExtra(
                "usesScalarValueType", assignment.value.isEmpty ? nil : try assignment.flag() ? "YES" : "NO")
        },
        .init("allowsExternalBinaryDataStorage") { try $0.setAllowsExternalStorage(try $1.flag()) },
        .init("allowsCloudEncryption") { try $0.setAllowsCloudEncryption(try $1.flag()) },
        .init("preserveAfterDeletion") { try $0.setPreservesValueInHistory(try $1.flag()) },
        .init("valueTransformerName") { try $0.setValueTransformerName($1.text) },
        .init("customClassName") { try $0.setValueClassName($1.text) },
    ]

    /// Parses a value in the form of source models; nil for an empty value.
    private func value(of assignment: Assignment) throws -> PropertyValue? {
        guard let text = assignment.text else { return nil }
        if let value = type.value(source: text) { return value }
        guard let form = type.sourceForm else {
            throw UsageError(
                "\(entity.name).\(name) is of type \(type.displayName) and cannot have a default value in a source "
                    + "model; omit \(assignment.key)")
        }
        throw UsageError("\(assignment.key) of \(entity.name).\(name) takes \(form), not \"\(text)\"")
    }

    private func edit(bound assignment: Assignment, isLeast: Bool) throws {
        // The bounds of a string are lengths.
        let kind = type == .string ? AttributeType.integer64 : type
        let lengths = "a length from 0 to \(Int64.max)"
        let value = try assignment.text.map { text in
            if let value = kind.value(source: text) { return value }
            guard kind != .boolean, kind != .uuid, let form = type == .string ? lengths : kind.sourceForm else {
                throw UsageError(
                    "\(entity.name).\(name) is of type \(kind.displayName) and cannot have bounds; omit "
                        + "\(assignment.key)"
                )
            }
            throw UsageError("\(assignment.key) of \(entity.name).\(name) takes \(form), not \"\(text)\"")
        }
        let former = bounds
        try setBounds(least: isLeast ? value : former.least, greatest: isLeast ? former.greatest : value)
    }
}

extension AttributeType {
    /// Parses a type name of source models: `Integer 64`, `String`.
    init(editing assignment: Assignment) throws {
        self = try assignment.one(
            of: AttributeType.allCases.map { ($0.sourceName, $0) },
            description: "a type of Xcode's model editor, such as \"Integer 64\" or \"String\"")
    }

    /// The form of a value in a source model, for error messages; nil for a type without such values.
    fileprivate var sourceForm: String? {
        switch self {
        case .integer16: return "an integer from \(Int16.min) to \(Int16.max)"
        case .integer32: return "an integer from \(Int32.min) to \(Int32.max)"
        case .integer64: return "an integer from \(Int64.min) to \(Int64.max)"
        case .decimal: return "a decimal number of up to 38 digits with an exponent from -128 to 127"
        case .double, .float: return "a finite number"
        case .boolean: return "YES or NO"
        case .date: return "a number of seconds since 2001-01-01 in UTC"
        case .uuid: return "a UUID"
        default: return nil
        }
    }
}

extension Relationship {
    fileprivate static let keys: [EditableKey<Relationship>] = [
        .init("destinationEntity") { relationship, assignment in
            try relationship.setDestination(try relationship.entity.model.requireEntity(named: assignment.value))
        },
        .init("inverseName") { relationship, assignment in
            let inverse = try assignment.text.map { name in
                guard
                    let found = try relationship.destination.requireOwnProperty(named: name) as? Relationship
                else {
                    throw UsageError(
                        "\(relationship.destination.name).\(name) is not a relationship and cannot be the inverse of "
                            + "\(relationship.entity.name).\(relationship.name); set inverseName to a relationship")
                }
                return found
            }
            try relationship.setInverse(inverse)
        },
        .init("toMany") { try $0.setToMany(try $1.flag()) },
        .init("ordered") { try $0.setOrdered(try $1.flag()) },
        .init("minCount") { try $0.setCounts(minimum: try $1.count(), maximum: $0.maximumCount) },
        .init("maxCount") { try $0.setCounts(minimum: $0.minimumCount, maximum: try $1.count()) },
        .init("deletionRule") { try $0.setDeleteRule(try DeleteRule(editing: $1)) },
    ]
}

extension DeleteRule {
    init(editing assignment: Assignment) throws {
        self = try assignment.one(of: DeleteRule.allCases.map { ($0.sourceText, $0) })
    }
}

extension FetchedProperty {
    fileprivate static let keys: [EditableKey<FetchedProperty>] = FetchRequestTemplate.keys.map { key in
        .init(key.name) { property, assignment in
            var request = property.fetchRequest
            try key.set(&request, assignment)
            try property.setFetchRequest(request)
        }
    }
}

extension FetchRequestTemplate {
    struct Key: Sendable {
        let name: String
        let set: @Sendable (inout FetchRequestTemplate, Assignment) throws -> Void
    }

    mutating func edit(_ assignments: [Assignment]) throws {
        for assignment in assignments {
            let names = FetchRequestTemplate.keys.map(\.name)
            guard let key = FetchRequestTemplate.keys.first(where: { $0.name == assignment.key }) else {
                let hint = nearestName(to: assignment.key, among: names).map { "; did you mean \"\($0)\"?" }
                throw UsageError(
                    "\"\(assignment.key)\" is not a key of a fetch request"
                        + (hint ?? "; use one of \(names.joined(separator: ", "))"))
            }
            try key.set(&self, assignment)
        }
    }

    fileprivate static let keys: [Key] = [
        Key(name: "entity") { $0.entityName = $1.value },
        Key(name: "predicateString") { $0.predicate = $1.text.map { PredicateText($0) } },
        Key(name: "fetchLimit") { $0.limit = Int(try $1.count()) },
        Key(name: "fetchOffset") { $0.offset = Int(try $1.count()) },
        Key(name: "fetchBatchSize") { $0.batchSize = Int(try $1.count()) },
        Key(name: "resultType") { request, assignment in
            let number: UInt32? = assignment.value.isEmpty ? 0 : UInt32(assignment.value)
            guard let number, let type = ResultType(rawValue: Int64(number)) else {
                throw UsageError("resultType must be 0, 1, 2 or 4, not \"\(assignment.value)\"")
            }
            request.resultType = type
        },
        Key(name: "includeSubentities") { $0.includesSubentities = try $1.flag() },
        Key(name: "includePropertyValues") { $0.includesPropertyValues = try $1.flag() },
        Key(name: "returnObjectsAsFaults") { $0.returnsObjectsAsFaults = try $1.flag() },
        Key(name: "returnDistinctResults") { $0.returnsDistinctResults = try $1.flag() },
    ]
}

extension [Assignment] {
    /// The assignments of the form `userInfo.KEY=VALUE`, and all others.
    fileprivate var userInfo: (info: [(key: String, value: String?)], rest: [Assignment]) {
        let prefix = "userInfo."
        return (
            filter { $0.key.hasPrefix(prefix) }.map { (String($0.key.dropFirst(prefix.count)), $0.text) },
            filter { !$0.key.hasPrefix(prefix) }
        )
    }
}
