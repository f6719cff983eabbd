import CorestoneModel
import CorestoneValues

// The value of a composite attribute consists of the values of its elements, which are read, changed and saved like
// other attributes.
extension ManagedObject {
    /// Returns a dictionary of the elements that have a value; null if all elements are null.
    func compositeValue(_ slot: Int) throws -> PropertyValue {
        try entity.attribute(slot).composed { try value(slot: Int($0.slot)) }
    }

    func committedCompositeValue(_ slot: Int) throws -> PropertyValue {
        try entity.attribute(slot).composed { try committedValue(slot: Int($0.slot)) }
    }

    /// Sets every element to its part of a validated value.
    func writeComposite(_ value: PropertyValue, _ slot: Int) {
        let parts = entity.attribute(slot).decomposed(value)
        let isObserved = state.contains(.observed)
        // Observers of the composite attribute are notified of a single change.
        if isObserved { for (leaf, _) in parts { willChangeObserved(Int(leaf.slot)) } }
        for (leaf, part) in parts { write(part, Int(leaf.slot)) }
        if isObserved { for (leaf, _) in parts { didChangeObserved(Int(leaf.slot)) } }
    }

    func isCompositeChanged(_ slot: Int) -> Bool {
        guard let overlay else { return false }
        return entity.attribute(slot).leaves.contains { overlay.isChanged(Int($0.slot)) }
    }

    /// Returns the property or element at a path; nil if the path continues after an attribute without elements.
    ///
    /// - Throws: An error if the path does not name a property or an element.
    func element(_ path: Substring) throws -> Property? {
        if let property = entity.property(named: String(path)) { return property }
        var head = path
        while let dot = head.lastIndex(of: ".") {
            head = head[..<dot]
            guard let attribute = entity.property(named: String(head)) as? Attribute else { continue }
            if attribute.type != .composite { return nil }
            break
        }
        return try entity.requireProperty(named: String(path))
    }

    /// Whether the value of a required attribute must not be null.
    ///
    /// An element of a composite attribute may be null as long as the composite attribute is null.
    func isRequired(_ attribute: Attribute) throws -> Bool {
        guard let composite = attribute.composite else { return true }
        return try !compositeValue(Int(composite.slot)).isNull
    }

    func compositeError(_ slot: Int) -> CoreError {
        let attribute = entity.attribute(slot)
        let paths = attribute.leaves.map(\.path).abridged
        return CoreError(
            .typeMismatch,
            "\(entity.name).\(attribute.path) is a composite attribute and does not have a single value; use its elements: \(paths)",
            entity: entity.name, key: attribute.path, objectURI: objectID.uri)
    }
}
