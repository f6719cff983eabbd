import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// A context has one object for each row (uniquing), so an object equals only itself, saved or not.
extension ManagedObject: Hashable, Identifiable {
    public static func == (a: ManagedObject, b: ManagedObject) -> Bool { a === b }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject {
    /// Returns the value of a property or key path as a Swift type; nil if the value is null.
    ///
    ///     let age: Int? = try person.get("age")
    ///
    /// - Throws: `.typeMismatch` if the value is of another type, or does not fit into an integer type.
    public func get<Value: PropertyConvertible>(_ keyPath: String, as type: Value.Type = Value.self) throws -> Value? {
        let value = try value(forKeyPath: keyPath)
        if value.isNull { return nil }
        guard let result = Value.from(value) else { throw mismatch(keyPath, value, Value.self) }
        return result
    }

    private func mismatch<Value>(_ keyPath: String, _ value: PropertyValue, _ type: Value.Type) -> CoreError {
        var found = "\(value.kindPhrase), not a value of type \(type)"
        if case .int(let number) = value, type is any (FixedWidthInteger & PropertyConvertible).Type {
            found = "\(number), which does not fit into \(type)"
        }
        return CoreError(
            .typeMismatch, "\(entityName).\(keyPath) is \(found)", entity: entityName, key: keyPath, value: value,
            objectURI: objectID.uri)
    }

    /// Sets an attribute or a relationship by name or key path, and updates the inverse. nil clears the property.
    public func set(_ keyPath: String, _ value: (any PropertyConvertible)?) throws {
        try setValue(value?.propertyValue ?? .null, forKeyPath: keyPath)
    }

    /// Returns the value of a transformable attribute, converted by its transformer; nil if the value is null.
    ///
    /// With a transformer for plain data, `Value` can be any type that conforms to `PropertyConvertible`.
    ///
    ///     let colour: Colour? = try item.transformed("colour")
    public func transformed<Value>(_ name: String, as type: Value.Type = Value.self) throws -> Value? {
        guard let value = try transformedValue(key: key(name)) else { return nil }
        if let result = value as? Value { return result }
        if let kind = Value.self as? any PropertyConvertible.Type, let plain = value as? PropertyValue {
            if plain.isNull { return nil }
            if let result = kind.from(plain) as? Value { return result }
        }
        if let plain = value as? PropertyValue { throw mismatch(name, plain, Value.self) }
        throw CoreError(
            .typeMismatch, "\(entityName).\(name) is of type \(Swift.type(of: value)), not \(Value.self)",
            entity: entityName, key: name, objectURI: objectID.uri)
    }

    /// Sets a transformable attribute through its transformer; nil clears it.
    public func setTransformed(_ name: String, to value: Any?) throws {
        let key = try key(name)
        let isPlain = try registeredTransformer(key: key).0 is any PlainDataTransformer
        try setTransformedValue(isPlain ? (value as? any PropertyConvertible)?.propertyValue ?? value : value, key: key)
    }

    /// Sets several properties by name or key path, in order.
    ///
    /// If a value is rejected, the properties before it keep their new values.
    public func set(_ values: KeyValuePairs<String, any PropertyConvertible>) throws {
        for (name, value) in values { try set(name, value) }
    }

    /// Returns a snapshot of the members of a to-many relationship, in order if it is ordered.
    public func members(_ name: String) throws -> [ManagedObject] { try members(key: key(name)) }

    public func memberCount(_ name: String) throws -> Int { try memberCount(key: key(name)) }

    /// Adds members to a to-many relationship, at the end if it is ordered.
    public func add(_ members: ManagedObject..., to name: String) throws {
        let key = try key(name)
        for member in members { try addMember(member, key: key) }
    }

    public func remove(_ members: ManagedObject..., from name: String) throws {
        let key = try key(name)
        for member in members { try removeMember(member, key: key) }
    }

    public func setMembers(_ members: [ManagedObject], of name: String) throws {
        try setMembers(members, key: key(name))
    }

    /// Inserts a member of an ordered relationship at an index. An existing member is moved to that index.
    public func insert(_ member: ManagedObject, at index: Int, in name: String) throws {
        try insertMember(member, at: index, key: key(name))
    }

    /// Removes the member at an index of an ordered relationship.
    public func removeMember(at index: Int, from name: String) throws {
        try removeMember(at: index, key: key(name))
    }

    /// Replaces the member at an index of an ordered relationship.
    public func replaceMember(at index: Int, with member: ManagedObject, in name: String) throws {
        try replaceMember(at: index, with: member, key: key(name))
    }

    /// Moves a member of an ordered relationship. `place` is its index after the move.
    public func moveMember(from index: Int, to place: Int, in name: String) throws {
        try moveMember(from: index, to: place, key: key(name))
    }

    /// Sets only the primitive value of an attribute or a to-one relationship.
    ///
    /// The object is not marked as changed, and the inverse is not updated. The value is saved when another change
    /// makes the object dirty; a refresh discards it.
    public func setPrimitive(_ name: String, _ value: (any PropertyConvertible)?) throws {
        try setPrimitive(value?.propertyValue ?? .null, key: key(name))
    }

    /// Sets only the primitive members of a to-many relationship, like `setPrimitive`.
    public func setPrimitiveMembers(_ members: [ManagedObject], of name: String) throws {
        try setPrimitiveMembers(members, key: key(name))
    }

    /// Returns the primitive value of a property; members as an array.
    ///
    /// It does not fire a fault: the result is null for a fault, and for a to-many relationship that is not loaded.
    public func primitiveValue(_ name: String) throws -> PropertyValue { try primitiveValue(key: key(name)) }

    /// Returns the value of an attribute or a to-one relationship at the last fetch or save.
    public func committedValue(_ name: String) throws -> PropertyValue { try committedValue(key: key(name)) }

    /// Whether the property was changed since the last fetch or save.
    public func isChanged(_ name: String) throws -> Bool { try isChanged(key: key(name)) }

    public var entityName: String { objectID.entity.name }

    func key(_ name: String) throws -> UInt32 {
        try checkQueue()
        return try objectID.entity.requireProperty(named: name).key
    }
}
