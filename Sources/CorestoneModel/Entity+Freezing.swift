import CorestoneValues

extension Entity {
    func checkHierarchy() throws {
        try checkInheritance()
        for constraint in uniqueConstraints where constraint.isEmpty {
            throw modelError(
                "a unique constraint of \(name) is empty; add an attribute to it, or remove it", entity: name)
        }
    }

    /// Gives every property its slot and key: the parent's entries first, so that a parent's key works on a child.
    func layOut(after inherited: [Property]) throws {
        properties = inherited + ownProperties.flatMap(\.withSlots)
        // A model that was refused before may have some from then.
        propertiesByName = [:]
        guard properties.count < 1 << Entity.slotBits else {
            throw modelError(
                "\(name) has \(properties.count) properties, but the limit is \(1 << Entity.slotBits - 1); split the entity",
                entity: name)
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
    ///
    /// - Parameter attempt: runs each check.
    func check(_ attempt: (() throws -> Void) throws -> Void) throws {
        for (name, property) in ownByName {
            guard let inherited = parent?.anyProperty(named: name) else { continue }
            if property is FetchedProperty || inherited is FetchedProperty { try attempt { throw repeated(name) } }
        }
        for attribute in ownAttributes { try attempt { try attribute.check() } }
        for relationship in ownRelationships { try attempt { try relationship.check() } }
        for index in indexes { try attempt { try check(index) } }
        for constraint in uniqueConstraints {
            try attempt { for name in constraint { try checkReference(name, in: "a unique constraint") } }
        }
    }

    private func check(_ index: FetchIndex) throws {
        if index.isOfProgram, let fault = spatialFault(index, property: { propertiesByName[$0] }) {
            throw modelError("\(fault.text); \(fault.remedy ?? "use a binary index")", entity: name, key: fault.key)
        }
        for element in index.elements where element.expression == nil {
            // Apple's own models index to-many relationships; no store makes such an index.
            if let relationship = propertiesByName[element.property] as? Relationship, relationship.isToMany {
                continue
            }
            try checkReference(element.property, in: "the index \"\(index.name)\"")
        }
    }

    /// Takes out properties that repeat inherited ones, which no layout has room for.
    func leaveOutRepeated(_ note: (CoreError) -> Void) throws {
        for property in ownProperties + ownFetchedProperties.map({ $0 as Property })
        where parent?.anyProperty(named: property.name) != nil {
            note(repeated(property.name))
            try remove(property)
        }
    }

    /// Why an R-tree cannot serve an index: it holds bounds of numbers, in up to five dimensions. nil for what is no R-tree, and for
    /// one that serves, as far as its properties are there and stored.
    ///
    /// - Parameter property: gives the property of a name.
    /// - Returns: The remedy is nil where only another kind of index serves.
    func spatialFault(
        _ index: FetchIndex, property: (String) -> Property?
    ) -> (text: String, key: String, remedy: String?)? {
        guard index.isRTree else { return nil }
        let shown = "the R-tree index \"\(index.name)\" of \(name)"
        guard (1...5).contains(index.elements.count) else {
            return ("\(shown) has \(index.elements.count) elements instead of 1 to 5", index.name, nil)
        }
        for element in index.elements {
            if let expression = element.expression {
                return (
                    "\(shown) contains the expression \"\(expression.text)\", but takes attributes only",
                    index.name, nil
                )
            }
            guard let property = property(element.property), !property.isTransient, !property.isSpatial else {
                continue
            }
            if let composite = property as? Attribute, composite.type == .composite {
                let paths = composite.leaves.map { "\"\($0.path)\"" }.joined(separator: ", ")
                return (
                    "\(shown) contains the composite attribute \"\(element.property)\"", element.property,
                    "use its elements: \(paths)"
                )
            }
            let type = (property as? Attribute)?.type.displayName ?? "relationship"
            return (
                "\(shown) contains \(name).\(element.property) (\(type)), but takes numbers, Booleans and dates only",
                element.property, nil
            )
        }
        return nil
    }

    private func repeated(_ property: String) -> CoreError {
        modelError(
            "\(name).\(property) has the name of an inherited property; rename or remove it", entity: name,
            key: property)
    }

    private func checkReference(_ name: String, in what: String) throws {
        guard let property = propertiesByName[name] else {
            guard anyProperty(named: name) == nil else {
                throw modelError(
                    "\(what) of \(self.name) contains the fetched property \"\(name)\", which does not have a column; use "
                        + "an attribute or a to-one relationship", entity: self.name, key: name)
            }
            let near = nearestName(to: name, among: properties.map(\.path)).map { "did you mean \"\($0)\"?" }
            throw modelError(
                "\(what) of \(self.name) refers to the unknown property \"\(name)\"; "
                    + (near ?? "correct the name, or add the property"), entity: self.name, key: name)
        }
        if let composite = property as? Attribute, composite.type == .composite {
            let paths = composite.leaves.map { "\"\($0.path)\"" }.joined(separator: ", ")
            throw modelError(
                "\(what) of \(self.name) contains the composite attribute \"\(name)\"; use its elements: \(paths)",
                entity: self.name, key: name)
        }
        guard !property.isTransient, (property as? Relationship)?.isToMany != true else {
            throw modelError(
                "\(what) of \(self.name) contains \"\(name)\", which does not have a column because it is "
                    + (property.isTransient
                        ? "transient; remove it, or make the property persistent"
                        : "to-many; use an attribute or a to-one relationship"),
                entity: self.name, key: name)
        }
    }
}

extension Property {
    /// Whether an R-tree has bounds of its values.
    package var isSpatial: Bool {
        switch (self as? Attribute)?.type {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean, .date: true
        default: false
        }
    }
}
