import CorestoneFormats
import CorestonePredicate
import CorestoneValues

/// A feature of a model whose form is not confirmed by any known file of Apple's framework.
///
/// The form is, for example, the version hash, the name of a column, or the content of a compiled model. The feature is
/// written by the rule that applies to all confirmed cases.
public struct Extrapolation: Sendable, Hashable {
    public let entity: String
    /// The property; nil for the entity itself.
    public let property: String?
    /// A clause that names the feature and the form that is not confirmed.
    public let text: String
}

extension Model {
    /// All unconfirmed features of the model, by entity and property.
    ///
    /// See docs/reference/store.md, "Compatibility with Apple's framework".
    public var extrapolations: [Extrapolation] {
        let requests = sortedByBytes(fetchRequestTemplates.keys).flatMap { name in
            fetchRequestTemplates[name].map { template in
                template.extrapolations("the fetch request template \"\(name)\"").map {
                    Extrapolation(entity: template.entityName, property: nil, text: $0)
                }
            } ?? []
        }
        return entities.flatMap(\.extrapolations) + requests
    }
}

extension Entity {
    fileprivate var extrapolations: [Extrapolation] {
        var found: [Extrapolation] = []
        func note(_ property: Property?, _ text: String) {
            found.append(Extrapolation(entity: name, property: property?.name, text: text))
        }
        if !name.isASCII {
            note(nil, "the version hash and the table name of an entity with a non-ASCII name are not confirmed")
        }
        for attribute in ownAttributes where !attribute.isTransient {
            for text in attribute.extrapolations { note(attribute, text) }
        }
        for relationship in ownRelationships where !relationship.name.isASCII { note(relationship, nonASCIIName) }
        for index in indexes where index.isRTree {
            note(
                nil,
                "the R-tree index \"\(index.name)\" is not confirmed by a store of Apple's framework")
        }
        for index in indexes {
            let doubts = (index.partialPredicate?.predicate?.archiveDoubts ?? []).union(
                index.elements.compactMap { $0.expression?.expression }.flatMap(\.archiveDoubts))
            if let text = archiveDoubt(doubts) { note(nil, "the index \"\(index.name)\": \(text)") }
        }
        for property in ownProperties + ownFetchedProperties {
            let rules = property.validationRules.compactMap(\.predicate.predicate)
            if let text = archiveDoubt(Set(rules.flatMap(\.archiveDoubts))) {
                note(property, "a validation predicate: \(text)")
            }
            guard let fetched = property as? FetchedProperty else { continue }
            for text in fetched.fetchRequest.extrapolations("its fetch request") { note(property, text) }
        }
        return found
    }
}

extension Attribute {
    fileprivate var extrapolations: [String] {
        var found: [String] = []
        if !name.isASCII { found.append(nonASCIIName) }
        if type == .composite {
            found.append("the version hash and the column names of a composite attribute are not confirmed")
        }
        if allowsExternalStorage && preservesValueInHistory {
            found.append(
                "the version hash of an attribute with external storage and history preservation is not confirmed")
        }
        if allowsCloudEncryption {
            found.append(
                "the version hash and the compiled form of an attribute with cloud encryption are not confirmed")
        }
        if isStoredInExternalRecord {
            found.append("the compiled form of an attribute in an external record is not confirmed")
        }
        if let derivation, !derivation.isConfirmed {
            found.append(
                "the version hash and the triggers of the derivation \"\(derivation.expression.text)\" are not "
                    + "confirmed")
        }
        return found
    }
}

extension FetchRequestTemplate {
    fileprivate func extrapolations(_ subject: String) -> [String] {
        var found: [String] = []
        if let text = archiveDoubt(predicate?.predicate?.archiveDoubts ?? []) { found.append("\(subject): \(text)") }
        if FetchRequestTemplate.archivedFlags.contains(where: { self[keyPath: $0.value] != $0.defaultValue }) {
            found.append(
                "\(subject): the compiled form of its options is not confirmed, so Apple's framework uses the defaults")
        }
        return found
    }
}

private let nonASCIIName = "the version hash and the column name of a property with a non-ASCII name are not confirmed"

/// Returns the text for a compiled model with these expressions; nil without expressions.
private func archiveDoubt(_ expressions: Set<String>) -> String? {
    guard !expressions.isEmpty else { return nil }
    return "the compiled form of \(sortedByBytes(expressions).joined(separator: ", ")) is not confirmed"
}

extension Predicate {
    /// The names of those expressions in the predicate whose archived form is not confirmed.
    fileprivate var archiveDoubts: Set<String> {
        var found: Set<String> = []
        _ = mapExpressions { expression in
            if let doubt = expression.archiveDoubt { found.insert(doubt) }
            return nil
        }
        return found
    }
}

extension Expression {
    fileprivate var archiveDoubts: Set<String> {
        var found: Set<String> = []
        _ = mapped { expression in
            if let doubt = expression.archiveDoubt { found.insert(doubt) }
            return nil
        }
        return found
    }

    /// The name of the expression if its archived form is not confirmed; otherwise nil.
    fileprivate var archiveDoubt: String? {
        switch self {
        case .subquery: "SUBQUERY"
        case .ternary: "TERNARY"
        case .cast: "CAST"
        case .setOperation(let operation, _, _): operation.rawValue
        case .indexed: "an index in brackets"
        case .dynamicKey, .computedKey: "a computed key"
        case .assignment: "an assignment"
        case .anyKey: "ANYKEY"
        case .constant(.set), .constant(.dictionary): "a constant set or dictionary"
        default: nil
        }
    }
}

extension Derivation {
    /// Whether the form of the derivation is confirmed by Apple's stores: `to-many.@count` and `to-one.attribute`.
    fileprivate var isConfirmed: Bool {
        guard filter == nil else { return false }
        switch expression.expression {
        case .keyPath(let path)?: return path.keys.count == 2
        case .function(.count, _)?: return true
        default: return false
        }
    }
}

extension String {
    fileprivate var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}
