import CorestoneFormats
import CorestonePredicate
import CorestoneValues

// The elements for the parts of a model: the counterpart of SourceElement+Reading.

extension SourceElement {
    /// Creates an element whose children have ascending indexes.
    init(_ name: String, _ attributes: [String: String], _ elements: [SourceElement] = []) {
        self.init(name: name, attributes: attributes, elements: elements)
        for place in self.elements.indices { self.elements[place].place = place }
    }

    /// Creates a `<userInfo>` element; nil without entries.
    static func userInfo(_ entries: [String: String]) -> SourceElement? {
        guard !entries.isEmpty else { return nil }
        return SourceElement(
            "userInfo", [:],
            sortedByBytes(entries.keys).map { SourceElement("entry", ["key": $0, "value": entries[$0] ?? ""]) })
    }

    init(_ index: FetchIndex) {
        var attributes = ["name": index.name]
        attributes["partialIndexPredicate"] = index.partialPredicate?.sourceText
        self.init("fetchIndex", attributes, index.elements.map { SourceElement($0) })
    }

    private init(_ element: FetchIndex.Element) {
        var attributes = [
            "type": element.collation == .rTree ? "RTree" : "Binary",
            "order": element.isAscending ? "ascending" : "descending",
        ]
        if let expression = element.expression?.sourceText {
            attributes["expression"] = expression
            if element.expressionType != .undefined {
                attributes["expressionType"] = element.expressionType.sourceName
            }
        } else {
            attributes["property"] = element.property
        }
        self.init("fetchIndexElement", attributes)
    }

    init(_ template: FetchRequestTemplate, named name: String) {
        var attributes = ["name": name, "entity": template.entityName]
        attributes["predicateString"] = template.predicate?.sourceText
        for (name, number) in [
            ("fetchLimit", template.limit), ("fetchOffset", template.offset), ("fetchBatchSize", template.batchSize),
            ("resultType", Int(template.resultType.rawValue)),
        ] where number != 0 { attributes[name] = String(number) }
        for (name, flag, usual) in [
            ("includeSubentities", template.includesSubentities, true),
            ("includePropertyValues", template.includesPropertyValues, true),
            ("returnObjectsAsFaults", template.returnsObjectsAsFaults, true),
            ("returnDistinctResults", template.returnsDistinctResults, false),
        ] where flag != usual { attributes[name] = flag ? "YES" : "NO" }
        self.init("fetchRequest", attributes)
    }

    init(_ configuration: ModelConfiguration) {
        var attributes = ["name": configuration.name]
        attributes.put("usedWithCloudKit", configuration.isUsedWithCloudKit)
        self.init(
            "configuration", attributes,
            configuration.entityNames.map { SourceElement("memberEntity", ["name": $0]) })
    }

    /// The name that Xcode gives to the request of a fetched property.
    static let fetchedPropertyRequest = "fetchedPropertyFetchRequest"
}

extension [String: String] {
    fileprivate mutating func put(_ name: String, _ flag: Bool) { if flag { self[name] = "YES" } }
}

// MARK: - Attributes of elements

extension Entity {
    var sourceAttributes: [String: String] {
        var words = ["name": name]
        words["representedClassName"] = className == "NSManagedObject" ? nil : className
        words.put("isAbstract", isAbstract)
        words["parentEntity"] = parent?.name
        words["elementID"] = renamingIdentifier
        words["versionHashModifier"] = versionHashModifier
        return words
    }

    /// The child elements except properties.
    var sourceElements: [SourceElement] {
        let alone = Set(indexes.filter { $0.spelling == .fetchIndex && $0.isPlain }.map { $0.elements[0].property })
        var elements = indexes.filter { index in
            index.spelling == .fetchIndex || index.spelling == .implied && !alone.contains(index.elements[0].property)
        }.map { SourceElement($0) }
        let compound = indexes.filter { $0.spelling == .compoundIndex }.map { index in
            SourceElement("compoundIndex", [:], index.elements.map { SourceElement("index", ["value": $0.property]) })
        }
        if !compound.isEmpty { elements.append(SourceElement("compoundIndexes", [:], compound)) }
        let constraints = uniqueConstraints.map { names in
            SourceElement("uniquenessConstraint", [:], names.map { SourceElement("constraint", ["value": $0]) })
        }
        if !constraints.isEmpty { elements.append(SourceElement("uniquenessConstraints", [:], constraints)) }
        if let info = SourceElement.userInfo(userInfo) { elements.append(info) }
        return elements
    }
}

extension Property {
    var sourceAttributes: [String: String] {
        var words = ["name": name]
        words.put("optional", isOptional)
        words.put("transient", isTransient)
        words.put("spotlightIndexingEnabled", isIndexedBySpotlight)
        words.put("storedInTruthFile", isStoredInExternalRecord)
        words["elementID"] = renamingIdentifier
        words["versionHashModifier"] = versionHashModifier
        switch self {
        case let attribute as Attribute: attribute.describe(&words)
        case let relationship as Relationship: relationship.describe(&words)
        default: break
        }
        return words
    }

    var sourceElements: [SourceElement] {
        let request = (self as? FetchedProperty).map {
            SourceElement($0.fetchRequest, named: SourceElement.fetchedPropertyRequest)
        }
        return [request, SourceElement.userInfo(userInfo)].compactMap { $0 }
    }

    var sourceName: String {
        switch self {
        case is Relationship: "relationship"
        case is FetchedProperty: "fetchedProperty"
        default: "attribute"
        }
    }
}

extension Attribute {
    fileprivate func describe(_ words: inout [String: String]) {
        words["attributeType"] = type == .undefined ? nil : type.sourceName
        words.put("allowsExternalBinaryDataStorage", allowsExternalStorage)
        words.put("allowsCloudEncryption", allowsCloudEncryption)
        words.put("preserveAfterDeletion", preservesValueInHistory)
        words["valueTransformerName"] = valueTransformerName
        words["customClassName"] = valueClassName
        words["composite"] = type == .composite ? compositeName ?? sourceCompositeName : nil
        words.put("derived", derivation != nil)
        words["derivationExpression"] = derivation?.sourceText
        let mark = entity.indexes.first { $0.spelling == .attribute && $0.name == name }
        words.put("indexed", composite == nil && mark != nil)
        words[type == .date ? "defaultDateTimeInterval" : "defaultValueString"] = type.sourceText(of: defaultValue)
        for rule in validationRules {
            if let (name, text) = rule.sourceAttribute(of: type) { words[name] = text }
        }
    }

    /// A name for an unnamed composite type, in Xcode's style.
    private var sourceCompositeName: String { name.prefix(1).uppercased() + name.dropFirst() }
}

extension Relationship {
    fileprivate func describe(_ words: inout [String: String]) {
        words.put("toMany", isToMany)
        let maximum = Int32(bitPattern: maximumCount)
        if maximum > 0 { words["maxCount"] = String(maximum) }
        if minimumCount > 0 { words["minCount"] = String(minimumCount) }
        words["deletionRule"] = deleteRule.sourceText
        words.put("ordered", isOrdered)
        words["destinationEntity"] = destination.name
        words["inverseName"] = inverse?.name
        words["inverseEntity"] = inverse == nil ? nil : destination.name
    }
}

// MARK: - Values

extension AttributeType {
    /// Returns the text of a value in a source model; nil if it cannot be represented.
    func sourceText(of value: PropertyValue) -> String? {
        switch value {
        case .bool(let flag): flag ? "YES" : "NO"
        case .int(let number): String(number)
        case .double(let number): self == .float ? Float(number).description : number.description
        // Xcode writes zero in this form.
        case .decimal(let number): number == DecimalNumber(0) ? "0.0" : number.description
        case .text(let text), .uri(let text): text.string
        case .uuid(let uuid): uuid.description
        case .date(let seconds): Int64(exactly: seconds).map { String($0) } ?? seconds.description
        case .null, .bytes, .object, .array, .set, .dictionary: nil
        }
    }
}

extension ValidationRule {
    /// Returns the XML attribute that represents the rule; nil if a source model cannot represent it.
    func sourceAttribute(of type: AttributeType) -> (name: String, text: String)? {
        guard case .comparison(let comparison)? = predicate.predicate,
            case .constant(let value) = comparison.right
        else { return nil }
        if type == .string, case .text(let pattern) = value, self == .pattern(pattern.string) {
            return ("regularExpressionString", pattern.string)
        }
        for isLeast in [true, false] where self == .bound(value, isLeast: isLeast, of: type) {
            guard let text = type.sourceText(of: value) else { return nil }
            let end = type == .date ? "DateTimeInterval" : "ValueString"
            return ((isLeast ? "min" : "max") + end, text)
        }
        return nil
    }
}

extension Derivation {
    /// The expression in the form of Xcode's editor: `count:(pages)` is `pages.@count`.
    package var sourceText: String? {
        guard case .function(let function, let arguments)? = expression.expression, arguments.count == 1,
            case .keyPath(let path) = arguments[0], let name = function.collectionOperatorName
        else { return expression.sourceText }
        return "\(Expression.keyPath(path).format).@\(name)"
    }
}

extension Function {
    fileprivate var collectionOperatorName: String? {
        switch self {
        case .count: "count"
        case .sum: "sum"
        case .average: "avg"
        case .min: "min"
        case .max: "max"
        default: nil
        }
    }
}
