/// The known content of elements that do not have separate extras, such as user info and fetch indexes.
///
/// An element with unknown content is kept as a whole in the extras of its owner, in addition to the values that are
/// read from it.
extension SourceElement {
    /// Whether the model represents the whole content of the element.
    var isUnderstood: Bool {
        guard let words = SourceElement.vocabulary[name],
            attributes.allSatisfy({ name, value in words.attributes[name]?.admits(value) ?? false }),
            words.required.allSatisfy({ attributes[$0] != nil }),
            elements.allSatisfy({ words.elements.contains($0.name) && $0.isUnderstood })
        else { return false }
        // An element of an index has either a property, or an expression and possibly its type.
        return name != "fetchIndexElement"
            || (attributes["property"] == nil)
                != (attributes["expression"] == nil && attributes["expressionType"] == nil)
    }

    /// Whether the request of a fetched property is fully supported and has Xcode's default name.
    ///
    /// Such a request does not have to be kept in the extras.
    var isPlainRequestOfProperty: Bool {
        isUnderstood && (attributes["name"] ?? "fetchedPropertyFetchRequest") == "fetchedPropertyFetchRequest"
    }

    /// The known attributes and children of a kind of element.
    private struct Words: Sendable {
        var attributes: [String: Meaning] = [:]
        var required: [String] = []
        var elements: Set<String> = []
    }

    /// The type of an attribute's value.
    private enum Meaning: Sendable {
        case text, flag, count, attributeType
        case one(of: Set<String>)

        func admits(_ value: String) -> Bool {
            switch self {
            case .text: true
            case .flag: SourceElement.flag(value) != nil
            case .count: Int(value).map { $0 >= 0 } ?? false
            case .attributeType: AttributeType(source: value) != nil
            case .one(let values): values.contains(value)
            }
        }
    }

    private static let vocabulary: [String: Words] = [
        "userInfo": Words(elements: ["entry"]),
        "entry": Words(attributes: ["key": .text, "value": .text], required: ["key"]),
        "uniquenessConstraints": Words(elements: ["uniquenessConstraint"]),
        "uniquenessConstraint": Words(elements: ["constraint"]),
        "constraint": Words(attributes: ["value": .text], required: ["value"]),
        "compoundIndexes": Words(elements: ["compoundIndex"]),
        "compoundIndex": Words(elements: ["index"]),
        "index": Words(attributes: ["value": .text], required: ["value"]),
        "fetchIndex": Words(
            attributes: ["name": .text, "partialIndexPredicate": .text], elements: ["fetchIndexElement"]),
        "fetchIndexElement": Words(attributes: [
            "property": .text, "expression": .text, "expressionType": .attributeType,
            "type": .one(of: ["Binary", "RTree"]),
            "order": .one(of: ["ascending", "descending"]),
        ]),
        "fetchRequest": Words(attributes: [
            "name": .text, "entity": .text, "predicateString": .text, "fetchLimit": .count, "fetchOffset": .count,
            "fetchBatchSize": .count, "resultType": .one(of: ["0", "1", "2", "4"]), "includeSubentities": .flag,
            "includePropertyValues": .flag, "returnObjectsAsFaults": .flag, "returnDistinctResults": .flag,
        ]),
        "configuration": Words(
            attributes: ["name": .text, "usedWithCloudKit": .flag], elements: ["memberEntity"]),
        "memberEntity": Words(attributes: ["name": .text], required: ["name"]),
    ]
}
