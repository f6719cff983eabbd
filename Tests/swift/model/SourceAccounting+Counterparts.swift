import CorestoneValues
import Foundation

@testable import CorestoneModel

// MARK: - Model elements of XML elements

private let flags = ["YES": true, "true": true, "1": true, "NO": false, "false": false, "0": false]

extension XMLNode {
    /// The values of one attribute of all children with one name; nil if there is any other content.
    func list(_ name: String, _ attribute: String) -> [String]? {
        let values = children.compactMap { child in
            child.name == name && child.attributes.count == 1 && child.children.isEmpty
                ? child.attributes[attribute] : nil
        }
        return values.count == children.count && attributes.isEmpty ? values : nil
    }

    func isUserInfo(_ info: [String: String]) -> Bool {
        let keys = children.map { $0.attributes["key"] ?? "" }
        return attributes.isEmpty && Set(keys).count == keys.count
            && children.allSatisfy { entry in
                entry.name == "entry" && Set(entry.attributes.keys).isSubset(of: ["key", "value"])
                    && entry.children.isEmpty
                    && entry.attributes["key"].map { info[$0] } == entry.attributes["value"] ?? ""
            }
    }
}

extension Model {
    func has(_ node: XMLNode) -> Bool {
        let name = node.attributes["name"] ?? ""
        switch node.name {
        case "fetchRequest": return fetchRequestTemplates[name]?.has(node, named: name) ?? false
        case "configuration":
            var plain = node.attributes
            plain["name"] = nil
            let isForCloud = plain.removeValue(forKey: "usedWithCloudKit").flatMap { flags[$0] } ?? false
            let members = XMLNode("", [:])
            members.children = node.children
            return plain.isEmpty
                && configurations.contains {
                    $0.name == name && $0.isUsedWithCloudKit == isForCloud
                        && $0.entityNames == members.list("memberEntity", "name")
                }
        case "composite":
            // Its attributes are counted with the attributes of the type.
            return node.attributes.count == 1 && node.children.count == node.children("attribute").count
                && entities.flatMap(\.ownAttributes).contains { $0.uses(name) }
        default: return false
        }
    }
}

extension Attribute {
    func uses(_ type: String) -> Bool { compositeName == type || elements.contains { $0.uses(type) } }

    func has(_ name: String, _ value: String) -> Bool {
        let number = Double(value)
        func rule(_ code: [Int64]) -> Bool {
            validationRules.contains { rule in
                guard case .code(let number) = rule.warning, code.contains(number) else { return false }
                let last = rule.predicate.text.split(separator: " ").last.map(String.init) ?? ""
                return last.contains("CAST") || Double(last) == Double(value) || rule.predicate.text.contains(value)
            }
        }
        switch name {
        case "attributeType": return type.sourceName == value
        case "allowsExternalBinaryDataStorage": return flags[value] == allowsExternalStorage
        case "preserveAfterDeletion": return flags[value] == preservesValueInHistory
        case "allowsCloudEncryption": return flags[value] == allowsCloudEncryption
        case "valueTransformerName": return (valueTransformerName ?? "") == value
        case "customClassName": return valueClassName == value
        case "composite": return compositeName == value
        case "derived": return flags[value] == (derivation != nil)
        case "derivationExpression": return derivation == Derivation(ExpressionText(value))
        case "indexed":
            return flags[value] == false
                || entity.indexes.contains { $0.isPlain && $0.elements[0].property == self.name }
        case "defaultValueString", "defaultDateTimeInterval":
            switch defaultValue {
            case .int(let default_):
                return Double(default_) == (number ?? 0).rounded(.towardZero) || default_ == 0 && number == nil
            case .double(let default_), .date(let default_):
                return default_ == number || number.map { Float($0) } == Float(default_)
            case .decimal(let default_): return default_.double == number
            case .bool(let flag): return flags[value] == flag
            case .text(let text), .uri(let text): return text.string == value
            case .uuid(let uuid): return uuid.description.lowercased() == value.lowercased()
            default: return false
            }
        case "minValueString", "minDateTimeInterval": return rule([1620, 1640, 1670])
        case "maxValueString", "maxDateTimeInterval": return rule([1610, 1630, 1660, 1650])
        case "regularExpressionString": return validationRules.contains { $0.warning == .code(1680) }
        default: return hasShared(name, value)
        }
    }
}

extension Relationship {
    func has(_ name: String, _ value: String) -> Bool {
        switch name {
        case "destinationEntity": return destination.name == value
        case "inverseName": return inverse?.name == value
        case "inverseEntity": return inverse != nil && destination.name == value
        case "toMany": return flags[value] == (maximumCount != 1) || maximumCount == 1
        case "ordered": return flags[value] == isOrdered
        case "minCount": return UInt32(value) == minimumCount
        case "maxCount": return UInt32(value) == maximumCount
        case "deletionRule": return deleteRule.sourceText == value
        default: return hasShared(name, value)
        }
    }
}

extension Property {
    func hasShared(_ name: String, _ value: String) -> Bool {
        switch name {
        case "name": return self.name == value
        case "optional": return flags[value] == isOptional
        case "transient": return flags[value] == isTransient
        case "spotlightIndexingEnabled": return flags[value] == isIndexedBySpotlight
        case "storedInTruthFile": return flags[value] == isStoredInExternalRecord
        case "elementID": return (renamingIdentifier ?? self.name) == value
        case "versionHashModifier": return versionHashModifier == value
        default: return false
        }
    }
}

extension Entity {
    func has(_ name: String, _ value: String) -> Bool {
        switch name {
        case "name": return self.name == value
        case "representedClassName": return className == value || value.isEmpty && className == "NSManagedObject"
        case "isAbstract": return flags[value] == isAbstract
        case "parentEntity": return parent?.name == value
        case "elementID": return (renamingIdentifier ?? self.name) == value
        case "versionHashModifier": return versionHashModifier == value
        default: return false
        }
    }

    func has(_ node: XMLNode) -> Bool {
        switch node.name {
        case "userInfo": return node.isUserInfo(userInfo)
        case "uniquenessConstraints":
            return node.attributes.isEmpty
                && node.children.allSatisfy { constraint in
                    constraint.name == "uniquenessConstraint"
                        && constraint.list("constraint", "value").map(uniqueConstraints.contains) ?? false
                }
        case "compoundIndexes":
            return node.attributes.isEmpty
                && node.children.allSatisfy { index in
                    guard index.name == "compoundIndex", let names = index.list("index", "value") else { return false }
                    return indexes.contains { $0.elements.map(\.property) == names }
                }
        case "fetchIndex": return indexes.contains { $0.has(node) }
        default: return false
        }
    }
}

extension FetchIndex {
    func has(_ node: XMLNode) -> Bool {
        var plain = node.attributes
        guard plain.removeValue(forKey: "name") == name,
            plain.removeValue(forKey: "partialIndexPredicate") == partialPredicate?.text, plain.isEmpty,
            node.children.count == elements.count
        else { return false }
        return zip(elements, node.children).allSatisfy { element, child in
            child.name == "fetchIndexElement" && child.children.isEmpty
                && child.attributes.allSatisfy { name, value in
                    switch name {
                    case "property": element.expression == nil && element.property == value
                    case "expression": element.expression?.text == value
                    case "expressionType": element.expression != nil && element.expressionType.sourceName == value
                    case "type": ["Binary": FetchIndex.Collation.binary, "RTree": .rTree][value] == element.collation
                    case "order": ["ascending": true, "descending": false][value] == element.isAscending
                    default: false
                    }
                }
        }
    }
}

extension FetchRequestTemplate {
    func has(_ node: XMLNode, named name: String) -> Bool {
        node.children.isEmpty
            && node.attributes.allSatisfy { key, value in
                switch key {
                case "name": name == value
                case "entity": entityName == value
                case "predicateString": predicate?.text == value
                case "fetchLimit": Int(value) == limit
                case "fetchOffset": Int(value) == offset
                case "fetchBatchSize": Int(value) == batchSize
                case "resultType": Int64(value) == resultType.rawValue
                case "includeSubentities": flags[value] == includesSubentities
                case "includePropertyValues": flags[value] == includesPropertyValues
                case "returnObjectsAsFaults": flags[value] == returnsObjectsAsFaults
                case "returnDistinctResults": flags[value] == returnsDistinctResults
                default: false
                }
            }
    }
}
