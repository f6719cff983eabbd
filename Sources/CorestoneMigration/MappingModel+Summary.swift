import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// The content of the mapping model as lists and dictionaries, as in its JSON. Missing parts are omitted, except
    /// that the `sourceExpression` of a mapping with a source but without this expression is null.
    public var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["entityMappings": .array(entityMappings.map(\.summary))]
        fields["sourcePath"] = sourcePath.map { .string($0) }
        fields["destinationPath"] = destinationPath.map { .string($0) }
        return .dictionary(fields)
    }
}

extension EntityMapping {
    fileprivate var summary: PropertyValue {
        var fields: [String: PropertyValue] = [
            "name": .string(name), "kind": .string(kind.name),
            "attributes": .array(attributeMappings.map(\.summary)),
            "relationships": .array(relationshipMappings.map(\.summary)),
        ]
        fields["source"] = sourceName.map { .string($0) }
        fields["destination"] = destinationName.map { .string($0) }
        fields["sourceHash"] = sourceHash.map { .bytes(Bytes($0)) }
        fields["destinationHash"] = destinationHash.map { .bytes(Bytes($0)) }
        fields["policyClass"] = policyClassName.map { .string($0) }
        fields["sourceExpression"] = sourceExpression.map { .string($0.format) }
        if sourceName != nil, sourceExpression == nil { fields["sourceExpression"] = .null }
        fields["filter"] = filter.map { .string($0) }
        if !userInfo.isEmpty { fields["userInfo"] = .dictionary(userInfo.mapValues { .string($0) }) }
        return .dictionary(fields)
    }
}

extension EntityMapping.Kind {
    /// Creates the kind with a value of the property `name`; nil for an unknown name.
    init?(named name: String) {
        let all = [EntityMapping.Kind.undefined, .custom, .add, .remove, .copy, .transform]
        guard let found = all.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// The name in JSON and in error messages.
    public var name: String {
        switch self {
        case .undefined: "undefined"
        case .custom: "custom"
        case .add: "add"
        case .remove: "remove"
        case .copy: "copy"
        case .transform: "transform"
        }
    }
}

extension PropertyMapping {
    fileprivate var summary: PropertyValue {
        var fields: [String: PropertyValue] = ["name": .string(name)]
        fields["expression"] = valueExpression.map { .string($0.format) }
        if isUnreadable { fields["unreadable"] = .bool(true) }
        if !userInfo.isEmpty { fields["userInfo"] = .dictionary(userInfo.mapValues { .string($0) }) }
        return .dictionary(fields)
    }
}
