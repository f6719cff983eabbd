import CorestoneValues

/// One kind of object: its properties, its place in the inheritance tree, its indexes and constraints.
public final class Entity: @unchecked Sendable {
    public internal(set) var name: String { didSet { nameText = Text(name) } }
    public unowned let model: Model
    /// The model owns every entity; a strong parent and its children would keep each other for ever.
    public internal(set) unowned var parent: Entity?
    public internal(set) var children: [Entity] = []
    public private(set) var isAbstract = false
    /// The class of an Apple host.
    public private(set) var className = "NSManagedObject"
    /// The name and the user info as C hosts read them: bytes that stay in place.
    package private(set) var nameText: Text
    /// Own properties of every kind.
    var ownByName: [String: Property] = [:]
    /// Taken out of the model, which keeps it only for those who still hold it.
    public internal(set) var isRemoved = false
    private var userInfoTexts: [String: Text] = [:]
    public private(set) var versionHashModifier: String?
    /// The name in the models of older versions, when it was another one.
    public private(set) var renamingIdentifier: String?
    /// What a source model says beyond all this.
    public private(set) var extras = SourceExtras()
    var sourceForm = SourceForm()
    /// Own attributes, in order of creation; inherited ones are in `properties`.
    public internal(set) var ownAttributes: [Attribute] = []
    public internal(set) var ownRelationships: [Relationship] = []
    /// Own fetched properties, in order of creation. They have no slot.
    public internal(set) var ownFetchedProperties: [FetchedProperty] = []
    public internal(set) var indexes: [FetchIndex] = []
    /// Checks of the host's, its own and with the inherited ones. The latter are set by `freeze`.
    var validators = EntityValidators()
    package var allValidators = EntityValidators()
    /// What the host does in the life of the objects, the same two ways.
    var hooks: (any EntityHooks)?
    package var allHooks: (any EntityHooks)?
    /// The kinds of hooks among them. Set by `freeze`.
    @usableFromInline package internal(set) var hookKinds: UInt32 = 0
    /// Each a list of attribute names whose combination is unique among the entity's objects.
    public internal(set) var uniqueConstraints: [[String]] = []

    /// The place in the model's list of entities. Set by `freeze`.
    public internal(set) var index: UInt32 = 0
    /// The number that a fresh store gives the entity (`Z_ENT`). Set by `freeze`.
    public internal(set) var number: UInt32 = 0
    /// The top of the inheritance tree, once `freeze` has settled it.
    private unowned(unsafe) var settledRoot: Entity?
    /// The `index` of the root: what rows and objects of one table have in common. Set by `freeze`.
    @usableFromInline package private(set) var rootIndex: UInt32 = 0
    /// Every property by slot: inherited ones first, with their parent's slots and keys. Set by `freeze`.
    public internal(set) var properties: [Property] = []
    var propertiesByName: [String: Property] = [:]

    /// By slot: the key of the property. A key is valid for this entity iff `slotKeys[slot of key] == key`.
    @usableFromInline package var slotKeys: UnsafeMutablePointer<UInt32>
    @usableFromInline package var slotCount: UInt32 = 0
    /// By slot: where the value lies in a row record.
    @usableFromInline package var layout: RecordLayout

    /// Slots whose fresh value is not null. Set by `freeze`.
    package internal(set) var defaults: [(slot: Int, value: PropertyValue)] = []

    /// The token by which C hosts know the entity; 0 when none was asked for.
    package var hostSlot: UInt = 0

    /// The number of low bits of a key that hold its slot.
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
    /// The top of the inheritance tree, whose table holds the rows of all descendants.
    public var root: Entity {
        if let settledRoot { return settledRoot }
        var top = self
        while let parent = top.parent { top = parent }
        return top
    }

    /// Whether the rows of both are numbered together in a store that is open with the models of both: these may be two instances
    /// of one model.
    package func isOfTree(of other: Entity) -> Bool { root === other.root || root.name == other.root.name }

    /// The tree does not change any more, and the entities have their indexes.
    func settleRoot() {
        let top = parent?.root ?? self
        settledRoot = top
        rootIndex = top.index
    }

    /// Free data of the model's author.
    public var userInfo: [String: String] { userInfoTexts.mapValues(\.string) }
    package func userInfoText(_ key: String) -> Text? { userInfoTexts[key] }

    /// Inherited ones first; the elements of a composite attribute come behind it.
    public var attributes: [Attribute] { properties.compactMap { $0 as? Attribute } }
    public var relationships: [Relationship] { properties.compactMap { $0 as? Relationship } }

    /// A property by name, inherited ones included; an element of a composite attribute by its path. The model must be
    /// frozen.
    public func property(named name: String) -> Property? { propertiesByName[name] }

    /// The attribute of a slot whose role says that it is one.
    package func attribute(_ slot: Int) -> Attribute { unsafeDowncast(properties[slot], to: Attribute.self) }
    /// The relationship of a slot whose role says that it is one.
    package func relationship(_ slot: Int) -> Relationship { unsafeDowncast(properties[slot], to: Relationship.self) }

    /// The property of that name, or an error that names the nearest one.
    public func requireProperty(named name: String) throws -> Property {
        if let property = propertiesByName[name] { return property }
        throw unknownProperty(name)
    }

    /// The error that names the nearest property.
    package func unknownProperty(_ name: String) -> CoreError {
        let nearest = nearestName(to: name, among: properties.map(\.path))
        let hint = nearest.map { "; did you mean \"\($0)\"?" } ?? ""
        return CoreError(
            .invalidArgument, "\(self.name) has no property \"\(name)\"\(hint)", entity: self.name, key: name)
    }
}

// MARK: - Building

extension Entity {
    /// Makes the entity inherit from another one of the model; from none with nil. Its indexes and constraints stay, unlike
    /// in Core Data, which drops them: `freeze` names those that have lost a property.
    public func setParent(_ newParent: Entity?) throws {
        try change {
            guard let newParent else { return leaveParent() }
            guard newParent.model === model, !newParent.isRemoved else {
                throw modelError(
                    newParent.isRemoved
                        ? "\(newParent.name) was removed from its model and cannot be the parent of \(name); pass an entity of the same model"
                        : "\(newParent.name) belongs to another model and cannot be the parent of \(name); pass an entity of the same model",
                    entity: name
                )
            }
            guard newParent.lineageCount < Entity.maximumInheritance else {
                throw tooDeep(below: newParent)
            }
            guard !newParent.isKind(of: self) else {
                throw modelError(
                    "\(name) cannot inherit from \(newParent.name): the inheritance would be circular; set another parent",
                    entity: name)
            }
            leaveParent()
            parent = newParent
            newParent.children.append(self)
        }
    }

    func leaveParent() {
        parent?.children.removeAll { $0 === self }
        parent = nil
    }

    /// For the end of the model, which still holds every entity.
    func letGoOfChildren() { children = [] }

    public func setAbstract(_ value: Bool) throws { try change { isAbstract = value } }
    /// nil is the class of every object, `NSManagedObject`.
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

    /// Adds a fetch index, whose properties are looked up when the model is frozen.
    /// - Throws: `.model` for an index of R-tree elements and others, a name that none can have, or one that is taken.
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

    /// The same for an index whose name the caller knows to be free, without a search for it.
    func addNewIndex(_ index: FetchIndex) throws {
        try change {
            if index.isRTree { try checkName(index.name, of: "an R-tree index", in: name) }
            var index = index
            index.isOfProgram = true
            try keepIndex(index)
        }
    }

    /// Adds an index that a file has, where two may have one name: a store then has the first.
    func keepIndex(_ index: FetchIndex) throws {
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

    /// For an error message: why an index cannot have a name; nil if it can.
    private func nameFault(ofIndex index: String) -> String? {
        if index.isEmpty { return "the name of an index of \(name) must not be empty" }
        if index.utf8.count > 1000 {
            return "the name of an index of \(name) has \(index.utf8.count) bytes, but the limit is 1000: "
                + "\"\(index.prefix(60))…\""
        }
        return index.utf8.allSatisfy { $0 >= 32 }
            ? nil : "\"\(index.prefix(60))\" is not a valid name for an index of \(name); remove control characters"
    }

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
                entity: name, key: relationship)
        }
    }

    func orderedToOne(_ relationship: String) -> CoreError {
        modelError(
            "\(name).\(relationship) is to-one and cannot be ordered; make it to-many", entity: name,
            key: relationship)
    }

    /// A change that looks before it changes anything; see `Model.edit`.
    func edit<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isRemoved else {
            throw modelError("cannot change \(name): it was removed from its model; add a new entity", entity: name)
        }
        return try model.edit(entity: name, body)
    }

    /// A change of the entity or of anything in it.
    func change<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isRemoved else {
            throw modelError("cannot change \(name): it was removed from its model; add a new entity", entity: name)
        }
        return try model.change(entity: name, body)
    }
}
