import CorestonePredicate
import CorestoneValues

/// A use in a model for which no file of Apple's that we know tells how its framework hashes or stores it: what is written
/// for it follows the rule that fits everything else.
public struct Extrapolation: Sendable, Hashable {
    public let entity: String
    /// nil for the entity itself.
    public let property: String?
    /// What is used, and what of it is not confirmed.
    public let text: String
}

extension Model {
    /// Everything in the model that rests on extrapolation (store-format.md section 5 and 1), by entity and property.
    public var extrapolations: [Extrapolation] { entities.flatMap(\.extrapolations) }
}

extension Entity {
    fileprivate var extrapolations: [Extrapolation] {
        var found: [Extrapolation] = []
        func note(_ property: Property?, _ text: String) {
            found.append(Extrapolation(entity: name, property: property?.name, text: text))
        }
        if !name.isASCII { note(nil, "its name is not ASCII: hash and table name are not confirmed") }
        for attribute in ownAttributes where !attribute.isTransient {
            for text in attribute.extrapolations { note(attribute, text) }
        }
        for relationship in ownRelationships where !relationship.name.isASCII {
            note(relationship, "its name is not ASCII: hash and column name are not confirmed")
        }
        for index in indexes where index.isRTree {
            note(nil, "the R-tree index \(index.name): no store of Apple's made from such a model is known")
        }
        return found
    }
}

extension Attribute {
    fileprivate var extrapolations: [String] {
        var found: [String] = []
        if !name.isASCII { found.append("its name is not ASCII: hash and column name are not confirmed") }
        if type == .composite {
            found.append("a composite attribute: its hash and the names of its columns are not confirmed")
        }
        if allowsExternalStorage && preservesValueInHistory {
            found.append("kept in files and preserved in history: the hash of both together is not confirmed")
        }
        if allowsCloudEncryption {
            found.append("encrypted in the cloud: that its hash ignores it, and how it is compiled, is not confirmed")
        }
        if isStoredInExternalRecord {
            found.append("stored in an external record: how it is compiled is not confirmed")
        }
        if let derivation, !derivation.isConfirmed {
            found.append("derived by \(derivation.expression.text): its hash and its triggers are not confirmed")
        }
        return found
    }
}

extension Derivation {
    /// Whether stores of Apple's with derivations of that form are known: `to-many.@count` and `to-one.attribute`.
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
