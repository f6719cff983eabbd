import CorestoneFormats
import CorestoneValues

extension Model {
    /// The parts of the model that a source model cannot represent, each as the object of a sentence.
    ///
    /// Examples are validation rules with custom messages, defaults of binary attributes and the order of a fetch. The
    /// localisation is not included, because it has its own file.
    public var sourceLosses: [String] { sourceLossPlaces.map(\.text) }

    /// The parts of `sourceLosses`, each with its entity and key.
    var sourceLossPlaces: [SourceLoss] {
        let requests = sortedByBytes(fetchRequestTemplates.keys).flatMap { name in
            (fetchRequestTemplates[name]?.sourceLosses ?? []).map {
                SourceLoss(
                    "\($0) of the fetch request template \"\(name)\"", fetchRequestTemplates[name]?.entityName, name)
            }
        }
        let identifiers = versionIdentifiers.filter { $0.utf8.contains(UInt8(ascii: ",")) }
        return entities.flatMap(\.sourceLosses) + requests
            + identifiers.map { SourceLoss("the comma in the version identifier \"\($0)\"") }
    }
}

/// A part of a model that a source model cannot represent.
struct SourceLoss {
    let text: String
    let entity: String?
    let key: String?

    init(_ text: String, _ entity: String? = nil, _ key: String? = nil) {
        (self.text, self.entity, self.key) = (text, entity, key)
    }
}

extension Entity {
    fileprivate var sourceLosses: [SourceLoss] {
        var losses: [SourceLoss] = []
        for attribute in ownAttributes { attribute.addSourceLosses(&losses) }
        for relationship in ownRelationships {
            let place = "\(name).\(relationship.name)"
            losses += relationship.validationRules.map {
                SourceLoss("the validation predicate \"\($0.predicate.text)\" of \(place)", name, relationship.name)
            }
            if Int32(bitPattern: relationship.maximumCount) < 0 {
                losses.append(
                    SourceLoss(
                        "the maximum count \(Int32(bitPattern: relationship.maximumCount)) of \(place)", name,
                        relationship.name))
            }
        }
        for index in indexes where index.isForeign {
            losses.append(SourceLoss("the archived index \"\(index.name)\" of \(name)", name, index.name))
        }
        for property in ownFetchedProperties {
            losses += property.fetchRequest.sourceLosses.map {
                SourceLoss("\($0) of \(name).\(property.name)", name, property.name)
            }
        }
        return losses
    }
}

extension Attribute {
    fileprivate func addSourceLosses(_ losses: inout [SourceLoss]) {
        let place = "\(entity.name).\(path)"
        func add(_ text: String) { losses.append(SourceLoss(text, entity.name, path)) }
        var words: Set<String> = []
        for rule in validationRules {
            // A source model can contain only one rule of each kind for an attribute.
            guard let name = rule.sourceAttribute(of: type)?.name, words.insert(name).inserted else {
                add("the validation predicate \"\(rule.predicate.text)\" of \(place)")
                continue
            }
        }
        if !defaultValue.isNull, type.sourceText(of: defaultValue).flatMap(type.value(source:)) != defaultValue {
            add("the default value of \(place)")
        }
        if derivation?.expression.foreign != nil { add("the archived derivation of \(place)") }
        if derivation?.filter != nil { add("the filter of the derived attribute \(place)") }
        if allowsNaN { add("the permission for NaN values of \(place)") }
        for element in elements { element.addSourceLosses(&losses) }
    }
}

extension FetchRequestTemplate {
    fileprivate var sourceLosses: [String] {
        (predicate?.foreign.map { ["the predicate \"\($0.text)\""] } ?? [])
            + (sortDescriptors.isEmpty ? [] : ["the sort descriptors"])
            + (relationshipKeyPathsForPrefetching.isEmpty ? [] : ["the prefetched relationships"])
    }
}

extension FetchIndex {
    fileprivate var isForeign: Bool {
        partialPredicate?.foreign != nil || elements.contains { $0.expression?.foreign != nil }
    }
}
