import CorestoneValues

/// Elements of composite attributes.
///
/// A composite attribute has elements, which are attributes with their own slots and keys. Its value is a dictionary of
/// the values of its elements.
extension Attribute {
    /// The maximum number of levels of a composite attribute: itself, its elements, their elements and so on.
    public static let maximumNesting = 16

    var nesting: Int { sequence(first: self, next: \.composite).reduce(0) { count, _ in count + 1 } }

    /// The parts of the attribute that have a value of their own.
    ///
    /// For a composite attribute, these are its elements that are not composite themselves, at any depth and in order.
    /// For other types, it is the attribute itself.
    public var leaves: [Attribute] { type == .composite ? elements.flatMap(\.leaves) : [self] }

    /// The attribute and its elements at every level.
    package var withElements: [Attribute] { [self] + elements.flatMap(\.withElements) }

    /// Returns the value of a composite attribute.
    ///
    /// This is a dictionary of the elements that have a value, or null if all elements are null. `value` returns the
    /// value of an element that is not composite.
    public func composed(_ value: (Attribute) throws -> PropertyValue) rethrows -> PropertyValue {
        guard type == .composite else { return try value(self) }
        var entries: [String: PropertyValue] = [:]
        for element in elements {
            let part = try element.composed(value)
            if !part.isNull { entries[element.name] = part }
        }
        return entries.isEmpty ? .null : .dictionary(entries)
    }

    /// Splits a value that `accept` returned into the values of the leaves.
    public func decomposed(_ value: PropertyValue) -> [(leaf: Attribute, value: PropertyValue)] {
        guard type == .composite else { return [(self, value)] }
        return elements.flatMap { $0.decomposed(value[element: $0.name]) }
    }

    /// Returns a dictionary of the converted values of the elements, without nulls; null if the dictionary is empty.
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
    /// Returns the entry of a dictionary; null if it is missing or the value is not a dictionary.
    subscript(element name: String) -> PropertyValue {
        if case .dictionary(let entries) = self { entries[name] ?? .null } else { .null }
    }
}

extension Property {
    /// The properties with a slot: the property itself, followed by the elements of a composite attribute.
    var withSlots: [Property] { (self as? Attribute)?.withElements ?? [self] }
}
