import CorestoneFormats
import CorestoneValues

extension Model {
    /// A difference between a model and the model of a store.
    public struct Difference: Sendable, Equatable {
        public let entity: String
        /// The property; nil if the entity itself differs.
        public let key: String?
        /// A clause for a message: `Package.size is Integer 32 in the store and Integer 64 in the model`.
        public let text: String
    }

    /// Returns the differences that change version hashes. This model is the store's.
    ///
    /// Entities and their properties are sorted by name. An inherited property is listed only with the entity that
    /// declares it, unless the superentities differ.
    public func differences(from model: Model) -> [Difference] {
        let names = Set(entities.map(\.name)).union(model.entities.map(\.name))
        return sortedByBytes(names).flatMap { name -> [Difference] in
            switch (entity(named: name), model.entity(named: name)) {
            case (let stored?, let wanted?): stored.differences(from: wanted)
            case (nil, _): [Difference(entity: name, key: nil, text: "\(name) is in the model only")]
            case (_, nil): [Difference(entity: name, key: nil, text: "\(name) is in the store only")]
            }
        }
    }
}

extension Entity {
    fileprivate func differences(from other: Entity) -> [Model.Difference] {
        var found: [Model.Difference] = []
        func add(_ key: String?, _ text: String) {
            let subject = key.map { "\(name).\($0)" } ?? name
            found.append(Model.Difference(entity: name, key: key, text: "\(subject) \(text)"))
        }
        func abstract(_ flag: Bool) -> String { flag ? "abstract" : "not abstract" }
        if isAbstract != other.isAbstract {
            add(nil, "is \(abstract(isAbstract)) in the store and \(abstract(other.isAbstract)) in the model")
        }
        func superentity(_ name: String?) -> String {
            name.map { "has the superentity \($0)" } ?? "does not have a superentity"
        }
        let (parent, wantedParent) = (self.parent?.name, other.parent?.name)
        if parent != wantedParent {
            let (stored, wanted) = withoutCommonVerb(superentity(parent), superentity(wantedParent))
            add(nil, "\(stored) in the store and \(wanted) in the model")
        }
        // If the superentities have the same name, differences of inherited properties are reported with the
        // superentities.
        let (mine, theirs) = (
            parent == wantedParent ? ownPersistent : allPersistent,
            parent == wantedParent ? other.ownPersistent : other.allPersistent
        )
        for key in sortedByBytes(Set(mine.keys).union(theirs.keys)) {
            switch (mine[key], theirs[key]) {
            case (let stored?, let wanted?):
                guard let difference = stored.difference(from: wanted) else { continue }
                add(key, "\(difference.stored) in the store and \(difference.wanted) in the model")
            case (nil, _): add(key, "is in the model only")
            case (_, nil): add(key, "is in the store only")
            }
        }
        if let (stored, wanted) = constraintDifference(from: other) {
            add(nil, "\(stored) in the store and \(wanted) in the model")
        }
        if versionHashModifier != other.versionHashModifier {
            add(nil, "has different version hash modifiers in the store and in the model")
        }
        return found
    }

    private func constraintDifference(from other: Entity) -> (String, String)? {
        func constraints(_ list: [[String]]) -> [String] { sortedByBytes(list.map { $0.joined(separator: ", ") }) }
        func text(_ list: [String]) -> String {
            list.isEmpty
                ? "does not have a unique constraint"
                : "has the unique constraint\(list.count == 1 ? "" : "s") (\(list.joined(separator: "), ("))" + ")"
        }
        let (stored, wanted) = (constraints(uniqueConstraints), constraints(other.uniqueConstraints))
        return stored == wanted ? nil : withoutCommonVerb(text(stored), text(wanted))
    }

    /// The persistent properties, by name.
    private var allPersistent: [String: Property] { Entity.persistent(allProperties) }
    private var ownPersistent: [String: Property] {
        Entity.persistent(ownAttributes as [Property] + ownRelationships as [Property])
    }

    private static func persistent(_ properties: [Property]) -> [String: Property] {
        Dictionary(
            properties.filter { !$0.isTransient }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// Returns the clauses for both sides of a difference. The second clause does not repeat a common verb.
private func withoutCommonVerb(_ stored: String, _ wanted: String) -> (stored: String, wanted: String) {
    let verb = stored.prefix { $0 != " " } + " "
    return (stored, wanted.hasPrefix(verb) ? String(wanted.dropFirst(verb.count)) : wanted)
}

extension Property {
    /// Returns the first difference that changes the hash, as clauses for both sides.
    fileprivate func difference(from other: Property) -> (stored: String, wanted: String)? {
        guard let (stored, wanted) = zip(clauses, other.clauses).first(where: { $0 != $1 }) else { return nil }
        return withoutCommonVerb(stored, wanted)
    }

    /// The hashed settings, each as a clause about the property. The number and order of the clauses are fixed.
    private var clauses: [String] {
        let (attribute, relationship) = (self as? Attribute, self as? Relationship)
        let modifier = versionHashModifier.map { "has the version hash modifier \"\($0)\"" }
        return [
            attribute == nil
                ? "is a relationship" : "is \(attribute?.derivation == nil ? "an" : "a derived") attribute",
            attribute.map { "is of type \($0.type.displayName)" } ?? "",
            attribute?.derivation.map { "is derived as \"\($0.expression.text)\"" } ?? "",
            relationship.map { "has the destination \($0.destination.name)" } ?? "",
            relationship?.inverse.map { "has the inverse \($0.name)" } ?? "does not have an inverse",
            relationship.map { $0.isToMany ? "is to-many with \($0.bound)" : "is to-one" } ?? "",
            "has at least \(relationship?.minimumCount ?? 0) member\(relationship?.minimumCount == 1 ? "" : "s")",
            isOptional ? "is optional" : "is required",
            relationship?.isOrdered == true ? "is ordered" : "is not ordered",
            attribute?.allowsExternalStorage == true ? "allows external storage" : "does not allow external storage",
            attribute?.preservesValueInHistory == true
                ? "is preserved in the history" : "is not preserved in the history",
            modifier ?? "does not have a version hash modifier",
        ]
    }
}

extension Relationship {
    /// The maximum as text.
    ///
    /// An unlimited relationship has the maximum 0, or another value in models that were built in code. The hashes of
    /// such relationships differ, but the text does not.
    fileprivate var bound: String {
        Int32(bitPattern: maximumCount) > 0 ? "at most \(maximumCount) members" : "any number of members"
    }
}
