import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension ManagedObject: KeyValueCoding {
    /// Returns the value of a property.
    ///
    /// This is an attribute's value, a to-one target, an array of the members of a to-many relationship, or an array of
    /// the objects of a fetched property. Members of an ordered relationship are in order. The names "entity" and
    /// "objectID" are supported too.
    ///
    /// - Throws: `.predicate` if the entity does not have the property.
    ///   The store's error if a row cannot be read.
    public func value(forKey name: String) throws -> PropertyValue {
        try checkQueue()
        if let property = entity.property(named: name) { return try value(slot: Int(property.slot)) }
        if let fetched = entity.fetchedProperty(named: name) {
            return .array(try self.fetched(fetched).map { .object($0) })
        }
        // Predicates use only the name of an entity: `entity.name == 'Manager'`.
        if name == "entity" { return .dictionary(["name": .string(entity.name)]) }
        if name == "objectID" { return .object(ObjectIDReference(objectID)) }
        do { _ = try entity.requireProperty(named: name) } catch let error as CoreError {
            throw CoreError(
                .predicate, error.message, entity: error.entity, key: name, value: error.value, objectURI: objectID.uri)
        }
        return .null
    }

    /// The class and the name of the object's entity and of its superentities, followed by `NSManagedObject`.
    public var classNames: [String] { entity.classNamesOfObjects }

    public var nameOfEntity: String? { entity.name }

    func value(slot: Int) throws -> PropertyValue {
        let layout = entity.layout.slots[slot]
        if layout.role == .toMany, let relationship = entity.properties[slot] as? Relationship {
            return .array(try readToMany(relationship).all().map { .object($0) })
        }
        if layout.role == .composite { return try compositeValue(slot) }
        if layout.role == .external, overlay?.isChanged(slot) != true {
            try fireIfNeeded(for: slot)
            return try externalValue(slot, layout)
        }
        let view = try view(key: entity.slotKeys[slot])
        // A view cannot represent every value of a transient attribute: collections, and objects of any class.
        if layout.role == .transient, let overlay, overlay.isChanged(slot) { return overlay[slot] }
        guard view.type == .object, let pointer = UnsafeRawPointer(bitPattern: UInt(view.low)) else {
            return view.propertyValue
        }
        return .object(Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue())
    }

    /// Sets an attribute, a to-one target, or the members of a to-many relationship (an array or set of objects).
    public func setValue(_ value: PropertyValue, forKey name: String) throws {
        try checkQueue()
        let property = try entity.requireProperty(named: name)
        guard let relationship = property as? Relationship, relationship.isToMany else {
            return try set(value, slot: Int(property.slot))
        }
        let elements: [PropertyValue]
        switch value {
        case .array(let values): elements = values
        case .set(let values): elements = Array(values)
        case .null: elements = []
        default: throw unsuitableMembers(value, relationship)
        }
        try setMembers(
            try elements.map { element in
                guard let member = try acceptTarget(element, relationship) else {
                    throw unsuitableTarget(element, relationship)
                }
                return member
            }, key: relationship.key)
    }

    /// Returns the value at a name or a key path, which may contain collection operators ("employees.@sum.salary").
    public func value(forKeyPath path: String) throws -> PropertyValue {
        try checkQueue()
        if let (source, key) = try resolve(keyPath: path) { return try source.value(slot: source.slot(of: key)) }
        return try KeyPathEvaluation.value(of: .object(self), atKeyPath: path)
    }

    /// Sets the last component of a key path on the object at the preceding path.
    public func setValue(_ value: PropertyValue, forKeyPath path: String) throws {
        try checkQueue()
        guard path.utf8.contains(UInt8(ascii: ".")) else { return try setValue(value, forKey: path) }
        if let (target, key) = try resolve(keyPath: path) {
            return try target.setValue(value, forKey: target.entity.properties[target.slot(of: key)].path)
        }
        throw try unsettable(path, value)
    }

    /// Returns the object and the property key that a key path sets.
    ///
    /// - Throws: `.invalidArgument` if the path does not end at a property of a single object.
    package func requireTarget(ofKeyPath path: String, for value: PropertyValue) throws -> (ManagedObject, UInt32) {
        if let found = try resolve(keyPath: path) { return found }
        throw try unsettable(path, value)
    }

    private func unsettable(_ path: String, _ value: PropertyValue) throws -> CoreError {
        CoreError(
            .invalidArgument, "cannot set \"\(path)\" of \(entity.name) \(objectID.uri): \(try obstacle(in: path))",
            entity: entity.name, key: path, value: value, objectURI: objectID.uri)
    }

    /// Returns the reason why `resolve` cannot follow a key path, with the first invalid part of the path.
    private func obstacle(in path: String) throws -> String {
        var (current, rest) = (self, path[...])
        while let dot = rest.firstIndex(of: ".") {
            let way = path[..<dot]
            switch current.entity.property(named: String(rest[..<dot])) {
            case let attribute as Attribute where attribute.type == .composite:
                // Element names contain dots. The path continues after the longest name of an existing element.
                var element = rest
                while let end = element.lastIndex(of: ".") {
                    element = element[..<end]
                    if current.entity.property(named: String(element)) != nil { break }
                }
                return "\"\(path[..<element.endIndex])\" does not have properties; end the path there"
            case is Attribute: return "\"\(way)\" does not have properties; end the path there"
            case let relationship as Relationship where !relationship.isToMany:
                try current.fireIfNeeded(for: Int(relationship.slot))
                guard !current.state.contains(.inaccessible), let target = try current.target(of: relationship) else {
                    return "\"\(way)\" is nil; set it first"
                }
                (current, rest) = (target, rest[rest.index(after: dot)...])
            case is Relationship: return "\"\(way)\" is not a single object; set the property of each object"
            default:
                return "\"\(way)\" is not an attribute or a relationship; use only attributes and relationships in the "
                    + "path"
            }
        }
        return "\"\(rest)\" is not an attribute or a relationship; end the path with one"
    }
}

extension Entity {
    /// The class and entity names that `isKindOfClass:` accepts for objects of the entity, the nearest first.
    var classNamesOfObjects: [String] {
        var names: [String] = []
        var next: Entity? = self
        while let entity = next {
            if entity.className != "NSManagedObject", entity.className != entity.name { names.append(entity.className) }
            names.append(entity.name)
            next = entity.parent
        }
        return names + ["NSManagedObject"]
    }
}
