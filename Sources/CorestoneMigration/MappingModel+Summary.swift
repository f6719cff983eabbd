import CorestonePredicate
import CorestoneValues

extension MappingModel {
    /// All that the mapping model says, as lists and dictionaries. What is not there is left out.
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
        if !userInfo.isEmpty { fields["userInfo"] = .dictionary(userInfo.mapValues { .string($0) }) }
        return .dictionary(fields)
    }
}

extension EntityMapping.Kind {
    /// For people and hosts.
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
