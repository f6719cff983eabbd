import CorestoneValues

/// A composite attribute has elements, which are attributes with slots, keys and columns of their own; its value is a
/// dictionary of theirs.
extension Attribute {
    /// Composites within composites, the attribute itself included.
    public static let maximumNesting = 16

    var nesting: Int { sequence(first: self, next: \.composite).reduce(0) { count, _ in count + 1 } }

    /// What has a column: the elements of a composite attribute that are not composite themselves, in order; the attribute
    /// itself for every other type.
    public var leaves: [Attribute] { type == .composite ? elements.flatMap(\.leaves) : [self] }

    /// The attribute and all elements in it.
    package var withElements: [Attribute] { [self] + elements.flatMap(\.withElements) }

    /// The value of a composite attribute, from those of its leaves: the elements that have a value. null when none has.
    public func composed(_ value: (Attribute) throws -> PropertyValue) rethrows -> PropertyValue {
        guard type == .composite else { return try value(self) }
        var entries: [String: PropertyValue] = [:]
        for element in elements {
            let part = try element.composed(value)
            if !part.isNull { entries[element.name] = part }
        }
        return entries.isEmpty ? .null : .dictionary(entries)
    }

    /// Takes a value apart that `accept` let pass: each leaf with its part.
    public func decomposed(_ value: PropertyValue) -> [(leaf: Attribute, value: PropertyValue)] {
        guard type == .composite else { return [(self, value)] }
        return elements.flatMap { $0.decomposed(value[element: $0.name]) }
    }

    /// A dictionary with values of the elements; an element that is missing has none.
    func accept(elements entries: [String: PropertyValue], for owner: Entity?) throws -> PropertyValue {
        let names = elements.map(\.name)
        for name in entries.keys.sorted() where !names.contains(name) {
            let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw CoreError(
                .invalidArgument, "\((owner ?? entity).name).\(path) has no element \"\(name)\"\(hint)",
                entity: (owner ?? entity).name, key: "\(path).\(name)", value: entries[name])
        }
        var accepted: [String: PropertyValue] = [:]
        for element in elements {
            let value = try element.accept(entries[element.name] ?? .null, for: owner)
            if !value.isNull { accepted[element.name] = value }
        }
        return accepted.isEmpty ? .null : .dictionary(accepted)
    }
}

extension PropertyValue {
    /// What a dictionary has for a name; null for everything else.
    subscript(element name: String) -> PropertyValue {
        if case .dictionary(let entries) = self { entries[name] ?? .null } else { .null }
    }
}

extension Property {
    /// What gets a slot: the property itself, and after a composite attribute its elements.
    var withSlots: [Property] { (self as? Attribute)?.withElements ?? [self] }
}
