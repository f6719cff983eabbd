import CorestoneFormats
import CorestoneValues

/// The order in which Xcode writes the parts of a source model.
extension SourceElement {
    /// The rank of a kind of element among its siblings; unknown kinds are last.
    var rank: Int { SourceElement.ranks[name] ?? SourceElement.ranks.count }

    /// The name by which Xcode sorts elements of one kind.
    var sortName: Text { Text(attributes["name"] ?? "") }

    /// The attributes in Xcode's order, then unknown ones by name.
    var orderedAttributes: [(name: String, value: String)] {
        var known = SourceElement.attributeOrder[name] ?? []
        if name == "model", isOfOldXcode { known.swapAt(known.count - 1, 1) }
        let order = Dictionary(known.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        return sortedByBytes(attributes.keys).map { (name: $0, value: attributes[$0] ?? "") }.enumerated().sorted {
            (order[$0.element.name] ?? known.count, $0.offset) < (order[$1.element.name] ?? known.count, $1.offset)
        }.map(\.element)
    }

    /// Whether the file was saved by Xcode 7 or older, which wrote the version identifier after the name.
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

    /// The order of attributes, as in files of Xcode.
    ///
    /// It is a guess for a few attributes that do not occur together in any known file.
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
