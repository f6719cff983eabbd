import CorestoneValues

extension Model {
    /// What the model knows and the source that Xcode edits has no way to say, each as the object of a sentence: conditions
    /// of an author's own words, defaults of binary attributes, the order of a fetch. The localisation is not among them: it
    /// has a file of its own.
    public var sourceLosses: [String] {
        let requests = sortedByBytes(fetchRequestTemplates.keys).flatMap { name in
            (fetchRequestTemplates[name]?.sourceLosses ?? []).map { "\($0) of the fetch request \"\(name)\"" }
        }
        let identifiers = versionIdentifiers.filter { $0.utf8.contains(UInt8(ascii: ",")) }
        return entities.flatMap(\.sourceLosses) + requests
            + identifiers.map { "the version identifier \"\($0)\", which contains a comma" }
    }
}

extension Entity {
    fileprivate var sourceLosses: [String] {
        var losses: [String] = []
        for attribute in ownAttributes { attribute.addSourceLosses(&losses) }
        for relationship in ownRelationships {
            let place = "\(name).\(relationship.name)"
            losses += relationship.validationRules.map { "the validation predicate \($0.predicate.text) of \(place)" }
            if Int32(bitPattern: relationship.maximumCount) < 0 {
                losses.append("the maximum count \(Int32(bitPattern: relationship.maximumCount)) of \(place)")
            }
        }
        for index in indexes where index.isForeign {
            losses.append("the archived index \"\(index.name)\" of \(name)")
        }
        for property in ownFetchedProperties {
            losses += property.fetchRequest.sourceLosses.map { "\($0) of \(name).\(property.name)" }
        }
        return losses
    }
}

extension Attribute {
    fileprivate func addSourceLosses(_ losses: inout [String]) {
        let place = "\(entity.name).\(path)"
        var words: Set<String> = []
        for rule in validationRules {
            // Of two rules of one kind only one has a place.
            guard let name = rule.sourceAttribute(of: type)?.name, words.insert(name).inserted else {
                losses.append("the validation predicate \(rule.predicate.text) of \(place)")
                continue
            }
        }
        if !defaultValue.isNull, type.sourceText(of: defaultValue).flatMap(type.value(source:)) != defaultValue {
            losses.append("the default value of \(place)")
        }
        if derivation?.expression.foreign != nil { losses.append("the archived derivation of \(place)") }
        if derivation?.filter != nil { losses.append("the filter of the derived attribute \(place)") }
        if allowsNaN { losses.append("the permission for NaN values of \(place)") }
        for element in elements { element.addSourceLosses(&losses) }
    }
}

extension FetchRequestTemplate {
    fileprivate var sourceLosses: [String] {
        (predicate?.foreign.map { ["the predicate \($0.text)"] } ?? [])
            + (sortDescriptors.isEmpty ? [] : ["the sort descriptors"])
            + (relationshipKeyPathsForPrefetching.isEmpty ? [] : ["the prefetched relationships"])
    }
}

extension FetchIndex {
    fileprivate var isForeign: Bool {
        partialPredicate?.foreign != nil || elements.contains { $0.expression?.foreign != nil }
    }
}
