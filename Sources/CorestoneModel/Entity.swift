import CorestoneValues

/// A type of managed object: its properties, its superentity and subentities, its indexes and constraints.
public final class Entity: @unchecked Sendable {
    public internal(set) var name: String { didSet { nameText = Text(name) } }
    public unowned let model: Model
    /// The superentity.
    ///
    /// Unowned, because the model owns every entity. A strong reference would form a retain cycle with `children`.
    public internal(set) unowned var parent: Entity?
    public internal(set) var children: [Entity] = []
    public private(set) var isAbstract = false
    /// The class name on Apple's platforms.
    public private(set) var className = "NSManagedObject"
    /// The name as bytes with a stable address, for the C interface. The user info is stored in the same way.
    package private(set) var nameText: Text
    /// The own properties of all kinds, by name.
    var ownByName: [String: Property] = [:]
    /// Whether the entity was removed from the model. The model keeps removed entities for existing references.
    public internal(set) var isRemoved = false
    private var userInfoTexts: [String: Text] = [:]
    public private(set) var versionHashModifier: String?
    /// The name in older versions of the model, if it was different.
    public private(set) var renamingIdentifier: String?
    /// The content of a source model that no other field represents.
    public private(set) var extras = SourceExtras()
    var sourceForm = SourceForm()
    /// The own attributes, in order of creation. `properties` includes inherited ones.
    public internal(set) var ownAttributes: [Attribute] = []
    public internal(set) var ownRelationships: [Relationship] = []
    /// The own fetched properties, in order of creation. They do not have slots.
    public internal(set) var ownFetchedProperties: [FetchedProperty] = []
    public internal(set) var indexes: [FetchIndex] = []
    /// The application's validators for this entity alone, and those with inherited ones, which `freeze` sets.
    var validators = EntityValidators()
    package var allValidators = EntityValidators()
    /// The application's lifecycle hooks for this entity alone, and those with inherited ones, which `freeze` sets.
    var hooks: (any EntityHooks)?
    package var allHooks: (any EntityHooks)?
    /// The kinds of hooks in `allHooks`. Set by `freeze`.
    @usableFromInline package internal(set) var hookKinds: UInt32 = 0
    /// The unique constraints, each as a list of attribute names.
    ///
    /// The combined values of these attributes are unique among the entity's objects.
    public internal(set) var uniqueConstraints: [[String]] = []

    /// The index in the model's list of entities. Set by `freeze`.
    public internal(set) var index: UInt32 = 0
    /// The number of the entity in a new store (`Z_ENT`). Set by `freeze`.
    public internal(set) var number: UInt32 = 0
    /// The root of the entity tree. Set by `freeze`.
    private unowned(unsafe) var resolvedRoot: Entity?
    /// The `index` of the root, which identifies the table of an object. Set by `freeze`.
    @usableFromInline package private(set) var rootIndex: UInt32 = 0
    /// Whether the entity has an own or inherited one-to-one relationship. Set by `freeze`.
    @usableFromInline package internal(set) var hasOneToOne = false
    /// Whether there is a transient attribute of an undefined type, which accepts values of every type. Set by `freeze`.
    @usableFromInline package internal(set) var hasUndefined = false
    /// All attributes and relationships by slot, inherited ones first. Set by `freeze`.
    ///
    /// Inherited properties have the same slots and keys as in the superentity.
    public internal(set) var properties: [Property] = []
    var propertiesByName: [String: Property] = [:]

    /// The key of each property, by slot.
    ///
    /// A key is valid for this entity if and only if `slotKeys[slot of key] == key`.
    @usableFromInline package var slotKeys: UnsafeMutablePointer<UInt32>
    @usableFromInline package var slotCount: UInt32 = 0
    /// The location of each value in a row record, by slot.
    @usableFromInline package var layout: RecordLayout

    /// The slots with a default value that is not null. Set by `freeze`.
    package internal(set) var defaults: [(slot: Int, value: PropertyValue)] = []

    /// The token of the entity's handle in the C interface; 0 if it was never requested.
    package var hostSlot: UInt = 0

    /// The number of low bits of a key that contain its slot.
    package static let slotBits: UInt32 = 12

    init(name: String, model: Model) {
        self.name = name
        nameText = Text(name)
        self.model = model
        slotKeys = UnsafeMutablePointer.allocate(capacity: 1)
        slotKeys.pointee = 0
        layout = RecordLayout(properties: [])
    }

    deinit {
        slotKeys.deallocate()
        layout.deallocate()
    }
}

// MARK: - Reading

extension Entity {
    /// The root of the entity tree, whose table contains the rows of all subentities.
    public var root: Entity {
        if let resolvedRoot { return resolvedRoot }
        var top = self
        while let parent = top.parent { top = parent }
        return top
    }

    /// Whether both entities belong to the same entity tree.
    ///
    /// The rows of a tree share one sequence of primary keys. The entities may belong to two instances of one model.
    package func isOfTree(of other: Entity) -> Bool { root === other.root || root.name == other.root.name }

    /// Sets the root and its index. Must be called after the indexes of all entities have been assigned.
    func resolveRoot() {
        let top = parent?.root ?? self
        resolvedRoot = top
        rootIndex = top.index
    }

    /// The user info of the model's author.
    public var userInfo: [String: String] { userInfoTexts.mapValues(\.string) }
    package func userInfoText(_ key: String) -> Text? { userInfoTexts[key] }

    /// The attributes, inherited ones first. The elements of a composite attribute follow it.
    public var attributes: [Attribute] { properties.compactMap { $0 as? Attribute } }
    public var relationships: [Relationship] { properties.compactMap { $0 as? Relationship } }

    /// Returns an own or inherited attribute or relationship by name, or an element of a composite attribute by path.
    ///
    /// The model must be frozen.
    public func property(named name: String) -> Property? { propertiesByName[name] }

    /// Returns the attribute of a slot. The role of the slot must be that of an attribute.
    package func attribute(_ slot: Int) -> Attribute { unsafeDowncast(properties[slot], to: Attribute.self) }
    /// Returns the relationship of a slot. The role of the slot must be that of a relationship.
    package func relationship(_ slot: Int) -> Relationship { unsafeDowncast(properties[slot], to: Relationship.self) }

    /// Returns a property by name.
    ///
    /// The error suggests the most similar name, or states that the name is that of a fetched property.
    public func requireProperty(named name: String) throws -> Property {
        if let property = propertiesByName[name] { return property }
        guard anyProperty(named: name) is FetchedProperty else { throw unknownProperty(name) }
        throw CoreError(
            .invalidArgument, "\(self.name).\(name) is a fetched property, not an attribute or a relationship",
            entity: self.name, key: name)
    }

    /// Creates the error for an unknown name, which suggests the most similar one.
    package func unknownProperty(_ name: String) -> CoreError {
        let nearest = nearestName(to: name, among: properties.map(\.path))
        let hint = nearest.map { "; did you mean \"\($0)\"?" } ?? ""
        return CoreError(
            .invalidArgument, "\(self.name) has no property \"\(name)\"\(hint)", entity: self.name, key: name)
    }
}

// MARK: - Building

extension Entity {
    /// Sets the superentity, another entity of the model; nil removes it.
    ///
    /// Indexes and constraints stay; Core Data removes them. `freeze` reports indexes and constraints that contain a
    /// missing property.
    public func setParent(_ newParent: Entity?) throws {
        try change {
            guard let newParent else { return detachFromParent() }
            guard newParent.model === model, !newParent.isRemoved else {
                throw modelError(
                    newParent.isRemoved
                        ? "\(newParent.name) was removed from its model and cannot be the superentity of \(name); pass another entity"
                        : "\(newParent.name) belongs to another model and cannot be the superentity of \(name); pass an entity of the model of \(name)",
                    entity: name
                )
            }
            guard newParent.lineageCount < Entity.maximumInheritance else {
                throw tooDeep(below: newParent)
            }
            guard !newParent.isKind(of: self) else {
                throw modelError(
                    "\(name) cannot inherit from \(newParent.name): the inheritance would be circular; set another superentity",
                    entity: name)
            }
            detachFromParent()
            parent = newParent
            newParent.children.append(self)
        }
    }

    func detachFromParent() {
        parent?.children.removeAll { $0 === self }
        parent = nil
    }

    /// Releases the children when the model is deallocated. The model still owns every entity then.
    func releaseChildren() { children = [] }

    public func setAbstract(_ value: Bool) throws { try change { isAbstract = value } }
    /// Sets the class name; nil is `NSManagedObject`.
    public func setClassName(_ value: String?) throws { try change { className = value ?? "NSManagedObject" } }
    public func setVersionHashModifier(_ value: String?) throws { try change { versionHashModifier = value } }
    public func setRenamingIdentifier(_ value: String?) throws { try change { renamingIdentifier = value } }
    public func setExtras(_ value: SourceExtras) throws { try change { extras = value } }
    public func setUserInfo(_ value: String?, forKey key: String) throws {
        try change { userInfoTexts[key] = value.map { Text($0) } }
    }

    @discardableResult
    public func addAttribute(
        named name: String, type: AttributeType, isOptional: Bool = true, isTransient: Bool = false
    ) throws -> Attribute {
        try change {
            try checkNewProperty(name)
            let attribute = Attribute(name: name, type: type, entity: self)
            attribute.isOptional = isOptional
            attribute.isTransient = isTransient
            ownByName[name] = attribute
            ownAttributes.append(attribute)
            return attribute
        }
    }

    /// Adds a relationship with delete rule Nullify.
    @discardableResult
    public func addRelationship(
        named name: String, destination: Entity, isToMany: Bool = false, isOptional: Bool = true,
        isOrdered: Bool = false
    ) throws -> Relationship {
        try change {
            try checkNewProperty(name)
            try checkDestination(destination, of: name)
            guard isToMany || !isOrdered else { throw orderedToOne(name) }
            let relationship = Relationship(name: name, destination: destination, entity: self)
            relationship.isOptional = isOptional
            relationship.isOrdered = isOrdered
            relationship.maximumCount = isToMany ? 0 : 1
            ownByName[name] = relationship
            ownRelationships.append(relationship)
            return relationship
        }
    }

    @discardableResult
    public func addFetchedProperty(
        named name: String, fetchRequest: FetchRequestTemplate, isOptional: Bool = true
    ) throws -> FetchedProperty {
        try change {
            try checkNewProperty(name)
            try FetchedProperty.require(fetchRequest, named: name, of: self)
            let property = FetchedProperty(name: name, fetchRequest: fetchRequest, entity: self)
            property.isOptional = isOptional
            ownByName[name] = property
            ownFetchedProperties.append(property)
            return property
        }
    }

    /// Adds a fetch index. Its properties are resolved when the model is frozen.
    ///
    /// - Throws: `.model` if the index mixes R-tree and binary elements, if its name is invalid or already used, or if
    ///   its predicate refers to a managed object.
    public func addIndex(_ index: FetchIndex) throws {
        try change {
            guard !indexes.contains(where: { $0.name == index.name }) else {
                throw modelError(
                    "\(name) already has an index \"\(index.name)\"; choose another name", entity: name,
                    key: index.name)
            }
            try addNewIndex(index)
        }
    }

    /// Adds an index, whose name the caller has checked to be unused.
    func addNewIndex(_ index: FetchIndex) throws {
        try change {
            if index.isRTree { try checkName(index.name, of: "an R-tree index", in: name) }
            var index = index
            index.isOfProgram = true
            try appendIndex(index)
        }
    }

    /// Adds an index from a file, in which two indexes may have the same name.
    ///
    /// In that case, a store contains only the first one.
    func appendIndex(_ index: FetchIndex) throws {
        try change {
            if let fault = nameFault(ofIndex: index.name) {
                throw modelError(fault, entity: name, key: String(index.name.prefix(60)))
            }
            guard index.elements.allSatisfy({ ($0.collation == .rTree) == index.isRTree }) else {
                throw modelError(
                    "the index \"\(index.name)\" of \(name) mixes R-tree and binary elements; create two indexes",
                    entity: name, key: index.name)
            }
            try index.partialPredicate?.requireNoObject(
                "the index \"\(index.name)\" of \(name)", entity: name, key: index.name)
            indexes.append(index)
        }
    }

    /// Returns why the name of an index is invalid, for an error message; nil if it is valid.
    private func nameFault(ofIndex index: String) -> String? {
        if index.isEmpty { return "the name of an index of \(name) must not be empty" }
        if index.utf8.count > 1000 {
            return "the name of an index of \(name) has \(index.utf8.count) bytes, but the limit is 1000: "
                + "\"\(index.prefix(60))…\""
        }
        return index.utf8.allSatisfy { $0 >= 32 }
            ? nil
            : "\"\(index.prefix(60))\(index.count > 60 ? "…" : "")\" is not a valid name for an index of \(name); "
                + "remove control characters"
    }

    /// Adds a unique constraint. The names are resolved when the model is frozen.
    public func addUniqueConstraint(_ attributes: [String]) throws {
        try change { uniqueConstraints.append(attributes) }
    }

    private func checkNewProperty(_ name: String) throws {
        try checkFreeName(name)
        try model.countProperty(name, of: self)
    }

    func checkFreeName(_ name: String) throws {
        try checkName(name, of: "a property", in: self.name)
        guard ownByName[name] == nil else {
            throw modelError(
                "\(self.name) already has a property \"\(name)\"; choose another name", entity: self.name, key: name)
        }
    }

    func checkDestination(_ destination: Entity, of relationship: String) throws {
        guard destination.model === model, !destination.isRemoved else {
            throw modelError(
                "\(destination.name), the destination of \(name).\(relationship), "
                    + (destination.isRemoved
                        ? "was removed from its model; set another entity"
                        : "does not belong to the model of \(name); set an entity of that model"),
                entity: name, key: relationship, value: .string(destination.name))
        }
    }

    func orderedToOne(_ relationship: String) -> CoreError {
        modelError(
            "\(name).\(relationship) is to-one and cannot be ordered; make it to-many", entity: name,
            key: relationship)
    }

    /// Runs a change that validates before it modifies anything; see `Model.edit`.
    func edit<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isRemoved else {
            throw modelError("cannot change \(name): it was removed from its model; add a new entity", entity: name)
        }
        return try model.edit(entity: name, body)
    }

    /// Runs a change of the entity or of a part of it; see `Model.change`.
    func change<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isRemoved else {
            throw modelError("cannot change \(name): it was removed from its model; add a new entity", entity: name)
        }
        return try model.change(entity: name, body)
    }
}
