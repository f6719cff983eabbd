import CorestoneValues

extension Entity {
    func checkHierarchy() throws {
        try checkInheritance()
        for constraint in uniqueConstraints where constraint.isEmpty {
            throw modelError(
                "a unique constraint of \(name) is empty; add an attribute to it, or remove it", entity: name)
        }
    }

    /// Assigns slots and keys to properties.
    ///
    /// The properties of the superentity are first, so that their keys are valid for subentities too.
    func layOut(after inherited: [Property]) throws {
        properties = inherited + ownProperties.flatMap(\.withSlots)
        // A previous attempt that failed may have left entries.
        propertiesByName = [:]
        guard properties.count < 1 << Entity.slotBits else {
            throw modelError(
                "\(name) has \(properties.count) properties, but the limit is \(1 << Entity.slotBits - 1); split the entity",
                entity: name)
        }
        for (slot, property) in properties.enumerated() where slot >= inherited.count {
            // `inherited` contains the properties of the superentity, whose names must not be repeated.
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
        hasUndefined = properties.contains { $0.isTransient && ($0 as? Attribute)?.type == .undefined }
        defaults = properties.enumerated().compactMap { slot, property in
            guard let attribute = property as? Attribute, !attribute.defaultValue.isNull else { return nil }
            return (slot, attribute.defaultValue)
        }
        for child in children { try child.layOut(after: properties) }
    }

    /// Checks the parts that depend on the whole model: inverses, indexes, constraints, types.
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
            // Models from Xcode can contain indexes of to-many relationships, which stores do not create.
            if let relationship = propertiesByName[element.property] as? Relationship, relationship.isToMany {
                continue
            }
            try checkReference(element.property, in: "the index \"\(index.name)\"")
        }
    }

    /// Removes properties that have the name of an inherited property, because they cannot be laid out.
    func removeRepeatedProperties(_ note: (CoreError) -> Void) throws {
        for property in ownProperties + ownFetchedProperties.map({ $0 as Property })
        where parent?.anyProperty(named: property.name) != nil {
            note(repeated(property.name))
            try remove(property)
        }
    }

    /// Returns the reason why an R-tree cannot implement an index.
    ///
    /// An R-tree stores numeric bounds in up to five dimensions. Returns nil for a binary index and for a valid R-tree
    /// index. Missing and transient properties are not checked here.
    ///
    /// - Parameter property: returns the property of a name.
    /// - Returns: the complaint, the key and the remedy. The remedy is nil if only another kind of index is possible.
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
                let paths = composite.leaves.filter(\.isSpatial).map { "\"\($0.path)\"" }.abridged
                return (
                    "\(shown) contains the composite attribute \"\(element.property)\"", element.property,
                    paths.isEmpty ? "use a number, Boolean or date" : "use its elements: \(paths)"
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

    private func checkReference(_ name: String, in owner: String) throws {
        guard let property = propertiesByName[name] else {
            guard anyProperty(named: name) == nil else {
                throw modelError(
                    "\(owner) of \(self.name) contains the fetched property \"\(name)\", which does not have a column; "
                        + "use an attribute or a to-one relationship", entity: self.name, key: name)
            }
            let near = nearestName(to: name, among: properties.map(\.path)).map { "did you mean \"\($0)\"?" }
            throw modelError(
                "\(owner) of \(self.name) refers to the unknown property \"\(name)\"; "
                    + (near ?? "correct the name, or add the property"), entity: self.name, key: name)
        }
        if let composite = property as? Attribute, composite.type == .composite {
            let paths = composite.leaves.map { "\"\($0.path)\"" }.abridged
            throw modelError(
                "\(owner) of \(self.name) contains the composite attribute \"\(name)\"; "
                    + (paths.isEmpty ? "use an attribute or a to-one relationship" : "use its elements: \(paths)"),
                entity: self.name, key: name)
        }
        guard !property.isTransient, (property as? Relationship)?.isToMany != true else {
            throw modelError(
                "\(owner) of \(self.name) contains \"\(name)\", which does not have a column because it is "
                    + (property.isTransient
                        ? "transient; make it persistent, or use another property"
                        : "to-many; use an attribute or a to-one relationship"),
                entity: self.name, key: name)
        }
    }
}

extension Property {
    /// Whether an R-tree can index the property.
    package var isSpatial: Bool {
        switch (self as? Attribute)?.type {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean, .date: true
        default: false
        }
    }
}
