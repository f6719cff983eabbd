import CorestoneValues

/// The order in which Xcode writes what a source model holds.
extension SourceElement {
    /// Where a kind of element stands among the others within the same element; what Xcode does not know stands last.
    var rank: Int { SourceElement.ranks[name] ?? SourceElement.ranks.count }

    /// By which Xcode sorts elements of one kind.
    var sortName: Text { Text(attributes["name"] ?? "") }

    /// The attributes in Xcode's order, then those that it does not know, by name.
    var orderedAttributes: [(name: String, value: String)] {
        var known = SourceElement.attributeOrder[name] ?? []
        if name == "model", isOfOldXcode { known.swapAt(known.count - 1, 1) }
        let order = Dictionary(known.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return sortedByBytes(attributes.keys).map { (name: $0, value: attributes[$0] ?? "") }.enumerated().sorted {
            (order[$0.element.name] ?? known.count, $0.offset) < (order[$1.element.name] ?? known.count, $1.offset)
        }.map(\.element)
    }

    /// Up to Xcode 7 the version identifier stood first.
    private var isOfOldXcode: Bool {
        guard let version = attributes["lastSavedToolsVersion"]?.prefix(while: { $0 != "." }),
            let number = Int(version)
        else { return false }
        return number > 1 && number < 11_000
    }

    private static let ranks: [String: Int] = Dictionary(
        uniqueKeysWithValues: [
            "entity", "composite", "attribute", "relationship", "fetchedProperty", "fetchRequest", "configuration",
            "fetchIndex", "compoundIndexes", "uniquenessConstraints", "userInfo", "elements",
        ].enumerated().map { ($1, $0) })

    /// Each of them has its place in files that Xcode wrote, but for a few that were never seen together.
    private static let attributeOrder: [String: [String]] = [
        "model": [
            "name", "", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
            "macOSVersion", "iOSVersion", "sourceLanguage", "usedWithCloudKit", "usedWithSwiftData",
            "userDefinedModelVersionIdentifier",
        ],
        "entity": [
            "name", "representedClassName", "isAbstract", "parentEntity", "elementID", "versionHashModifier",
            "syncable", "codeGenerationType",
        ],
        "attribute": [
            "name", "optional", "transient", "attributeType", "allowsExternalBinaryDataStorage",
            "allowsCloudEncryption", "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval",
            "defaultValueString", "defaultDateTimeInterval", "regularExpressionString", "derived",
            "derivationExpression", "usesScalarValueType", "preserveAfterDeletion", "valueTransformerName",
            "customClassName", "indexed", "spotlightIndexingEnabled", "storedInTruthFile", "elementID",
            "versionHashModifier", "syncable", "composite",
        ],
        "relationship": [
            "name", "optional", "transient", "toMany", "minCount", "maxCount", "deletionRule", "ordered",
            "destinationEntity", "inverseName", "inverseEntity", "indexed", "spotlightIndexingEnabled",
            "storedInTruthFile", "elementID", "versionHashModifier", "syncable",
        ],
        "fetchedProperty": [
            "name", "optional", "transient", "spotlightIndexingEnabled", "storedInTruthFile", "elementID",
            "versionHashModifier", "syncable",
        ],
        "fetchRequest": [
            "name", "entity", "predicateString", "fetchLimit", "fetchOffset", "fetchBatchSize", "resultType",
            "includeSubentities", "includePropertyValues", "includePendingChanges", "returnObjectsAsFaults",
            "returnDistinctResults",
        ],
        "fetchIndex": ["name", "partialIndexPredicate"],
        "fetchIndexElement": ["property", "expression", "expressionType", "type", "order"],
        "configuration": ["name", "usedWithCloudKit"],
        "memberEntity": ["name"],
        "constraint": ["value"],
        "index": ["value"],
        "entry": ["key", "value"],
        "element": ["name", "positionX", "positionY", "width", "height"],
    ]
}
