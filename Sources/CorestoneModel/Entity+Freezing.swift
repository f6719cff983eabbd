import CorestoneValues

extension Entity {
    func checkHierarchy() throws {
        try checkInheritance()
        for constraint in uniqueConstraints where constraint.isEmpty {
            throw modelError("a unique constraint of \(name) names no attribute", entity: name)
        }
    }

    /// Gives every property its slot and key: the parent's entries first, so that a parent's key works on a child.
    func layOut(after inherited: [Property]) throws {
        properties = inherited + ownProperties.flatMap(\.withSlots)
        // A model that was refused before may have some from then.
        propertiesByName = [:]
        guard properties.count < 1 << Entity.slotBits else {
            throw modelError(
                "\(name) has \(properties.count) properties; \(1 << Entity.slotBits - 1) is the most", entity: name)
        }
        for (slot, property) in properties.enumerated() where slot >= inherited.count {
            // The parent's are these.
            guard inherited.isEmpty || parent?.propertiesByName[property.path] == nil else {
                throw repeated(property.name)
            }
            property.slot = UInt32(slot)
            property.key = model.nextPropertyNumber << Entity.slotBits | UInt32(slot)
            model.nextPropertyNumber += 1
        }
        propertiesByName = Dictionary(properties.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        slotKeys.deallocate()
        slotKeys = UnsafeMutablePointer.allocate(capacity: max(properties.count, 1))
        for (slot, property) in properties.enumerated() { slotKeys[slot] = property.key }
        slotCount = UInt32(properties.count)
        layout.deallocate()
        layout = RecordLayout(properties: properties)
        defaults = properties.enumerated().compactMap { slot, property in
            guard let attribute = property as? Attribute, !attribute.defaultValue.isNull else { return nil }
            return (slot, attribute.defaultValue)
        }
        for child in children { try child.layOut(after: properties) }
    }

    /// What only the whole model can tell: inverses, indexes, constraints, types.
    func check() throws {
        for (name, property) in ownByName {
            guard let inherited = parent?.anyProperty(named: name) else { continue }
            if property is FetchedProperty || inherited is FetchedProperty { throw repeated(name) }
        }
        for attribute in ownAttributes { try attribute.check() }
        for relationship in ownRelationships { try relationship.check() }
        for index in indexes {
            for element in index.elements where element.expression == nil {
                // Apple's own models index to-many relationships; no store makes such an index.
                if let relationship = propertiesByName[element.property] as? Relationship, relationship.isToMany {
                    continue
                }
                try checkReference(element.property, in: "the index \(index.name)")
            }
        }
        for constraint in uniqueConstraints {
            for name in constraint { try checkReference(name, in: "a unique constraint") }
        }
    }

    private func repeated(_ property: String) -> CoreError {
        modelError(
            "\(name).\(property) repeats a property that \(name) inherits; remove one of them", entity: name,
            key: property)
    }

    private func checkReference(_ name: String, in what: String) throws {
        guard let property = propertiesByName[name] else {
            throw modelError(
                "\(what) of \(self.name) names \"\(name)\", which is no property of it", entity: self.name, key: name)
        }
        if let composite = property as? Attribute, composite.type == .composite {
            let paths = composite.leaves.map(\.path).joined(separator: ", ")
            throw modelError(
                "\(what) of \(self.name) names \"\(name)\", which is composite; name elements of it: \(paths)",
                entity: self.name, key: name)
        }
        guard !property.isTransient, (property as? Relationship)?.isToMany != true else {
            throw modelError(
                "\(what) of \(self.name) names \"\(name)\", which has no column: it is transient or to-many",
                entity: self.name, key: name)
        }
    }
}
