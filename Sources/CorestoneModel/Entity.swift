import CorestoneValues

/// One kind of object: its properties, its place in the inheritance tree, its indexes and constraints.
public final class Entity: @unchecked Sendable {
    public let name: String
    public unowned let model: Model
    /// The model owns every entity; a strong parent and its children would keep each other for ever.
    public private(set) unowned var parent: Entity?
    public private(set) var children: [Entity] = []
    public private(set) var isAbstract = false
    /// The class of an Apple host.
    public private(set) var className = "NSManagedObject"
    /// The name and the user info as C hosts read them: bytes that stay in place.
    package let nameText: Text
    private var userInfoTexts: [String: Text] = [:]
    public private(set) var versionHashModifier: String?
    public private(set) var renamingIdentifier: String?
    /// Own attributes, in order of creation; inherited ones are in `properties`.
    public private(set) var ownAttributes: [Attribute] = []
    public private(set) var ownRelationships: [Relationship] = []
    public private(set) var indexes: [FetchIndex] = []
    /// Each a list of attribute names whose combination is unique among the entity's objects.
    public private(set) var uniqueConstraints: [[String]] = []

    /// The place in the model's list of entities. Set by `freeze`.
    public internal(set) var index: UInt32 = 0
    /// The number that a fresh store gives the entity (`Z_ENT`). Set by `freeze`.
    public internal(set) var number: UInt32 = 0
    /// The top of the inheritance tree, once `freeze` has settled it.
    private unowned(unsafe) var settledRoot: Entity?
    /// The `index` of the root: what rows and objects of one table have in common. Set by `freeze`.
    @usableFromInline package private(set) var rootIndex: UInt32 = 0
    /// Every property by slot: inherited ones first, with their parent's slots and keys. Set by `freeze`.
    public private(set) var properties: [Property] = []
    private var propertiesByName: [String: Property] = [:]

    /// By slot: the key of the property. A key is valid for this entity iff `slotKeys[slot of key] == key`.
    @usableFromInline package var slotKeys: UnsafeMutablePointer<UInt32>
    @usableFromInline package var slotCount: UInt32 = 0
    /// By slot: where the value lies in a row record.
    @usableFromInline package var layout: RecordLayout

    /// Slots whose fresh value is not null. Set by `freeze`.
    package private(set) var defaults: [(slot: Int, value: PropertyValue)] = []

    /// The token by which C hosts know the entity; 0 when none was asked for.
    package var token: UInt = 0

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
    public var root: Entity { settledRoot ?? parent?.root ?? self }

    /// The tree does not change any more, and the entities have their indexes.
    func settleRoot() {
        let top = parent?.root ?? self
        settledRoot = top
        rootIndex = top.index
    }

    /// Free data of the model's author.
    public var userInfo: [String: String] { userInfoTexts.mapValues(\.string) }
    package func userInfoText(_ key: String) -> Text? { userInfoTexts[key] }

    public var attributes: [Attribute] { properties.compactMap { $0 as? Attribute } }
    public var relationships: [Relationship] { properties.compactMap { $0 as? Relationship } }

    /// A property by name, inherited ones included. The model must be frozen.
    public func property(named name: String) -> Property? { propertiesByName[name] }

    /// Own and inherited properties at any time, parents' first.
    public var allProperties: [Property] {
        let own: [Property] = ownAttributes as [Property] + ownRelationships as [Property]
        return (parent?.allProperties ?? []) + own.sorted { $0.ordinal < $1.ordinal }
    }

    /// Whether the entity is `other` or inherits from it.
    public func isKind(of other: Entity) -> Bool { self === other || parent?.isKind(of: other) == true }

    /// The entity and all that inherit from it, parents first.
    public var withDescendants: [Entity] { [self] + children.flatMap(\.withDescendants) }

    /// The attribute of a slot whose role says that it is one.
    package func attribute(_ slot: Int) -> Attribute { unsafeDowncast(properties[slot], to: Attribute.self) }
    /// The relationship of a slot whose role says that it is one.
    package func relationship(_ slot: Int) -> Relationship { unsafeDowncast(properties[slot], to: Relationship.self) }

    /// Siblings are ordered by name without regard to case, then with it.
    static func precedes(_ a: Entity, _ b: Entity) -> Bool {
        let (x, y) = (a.name.lowercased(), b.name.lowercased())
        return x == y ? a.name < b.name : Text(x) < Text(y)
    }

    /// The property of that name, or an error that names the nearest one.
    public func requireProperty(named name: String) throws -> Property {
        if let property = propertiesByName[name] { return property }
        let nearest = nearestName(to: name, among: properties.map(\.name))
        let hint = nearest.map { "; did you mean \"\($0)\"?" } ?? ""
        throw CoreError(
            .invalidArgument, "\(self.name) has no property \"\(name)\"\(hint)", entity: self.name, key: name)
    }
}

// MARK: - Building

extension Entity {
    public func setParent(_ newParent: Entity) throws {
        try model.change {
            guard newParent.model === model else {
                throw modelError("\(newParent.name) belongs to another model than \(name)", entity: name)
            }
            guard !newParent.isKind(of: self) else {
                throw modelError("\(name) cannot inherit from \(newParent.name), which inherits from it", entity: name)
            }
            parent?.children.removeAll { $0 === self }
            parent = newParent
            newParent.children.append(self)
        }
    }

    public func setAbstract(_ value: Bool) throws { try model.change { isAbstract = value } }
    public func setClassName(_ value: String) throws { try model.change { className = value } }
    public func setVersionHashModifier(_ value: String?) throws { try model.change { versionHashModifier = value } }
    public func setRenamingIdentifier(_ value: String?) throws { try model.change { renamingIdentifier = value } }
    public func setUserInfo(_ value: String?, forKey key: String) throws {
        try model.change { userInfoTexts[key] = value.map { Text($0) } }
    }

    @discardableResult
    public func addAttribute(
        named name: String, type: AttributeType, isOptional: Bool = true, isTransient: Bool = false
    ) throws -> Attribute {
        try model.change {
            try checkNewProperty(name)
            let attribute = Attribute(name: name, type: type, entity: self)
            attribute.isOptional = isOptional
            attribute.isTransient = isTransient
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
        try model.change {
            try checkNewProperty(name)
            guard destination.model === model else {
                throw modelError(
                    "\(destination.name), the destination of \(self.name).\(name), belongs to another model",
                    entity: self.name, key: name)
            }
            guard isToMany || !isOrdered else {
                throw modelError(
                    "\(self.name).\(name) is to-one and cannot be ordered; make it to-many", entity: self.name,
                    key: name)
            }
            let relationship = Relationship(name: name, destination: destination, entity: self)
            relationship.isOptional = isOptional
            relationship.isOrdered = isOrdered
            relationship.maximumCount = isToMany ? 0 : 1
            ownRelationships.append(relationship)
            return relationship
        }
    }

    public func addIndex(_ index: FetchIndex) throws { try model.change { indexes.append(index) } }
    public func addUniqueConstraint(_ attributes: [String]) throws {
        try model.change { uniqueConstraints.append(attributes) }
    }

    private func checkNewProperty(_ name: String) throws {
        try checkName(name, of: "a property", in: self.name)
        guard !(ownAttributes.contains { $0.name == name } || ownRelationships.contains { $0.name == name }) else {
            throw modelError("\(self.name) has a property \(name) already", entity: self.name, key: name)
        }
    }
}

// MARK: - Freezing

extension Entity {
    func checkHierarchy() throws {
        for constraint in uniqueConstraints where constraint.isEmpty {
            throw modelError("a unique constraint of \(name) names no attribute", entity: name)
        }
    }

    /// Gives every property its slot and key: the parent's entries first, so that a parent's key works on a child.
    func layOut(after inherited: [Property]) throws {
        let own = (ownAttributes as [Property] + ownRelationships as [Property]).sorted { $0.ordinal < $1.ordinal }
        properties = inherited + own
        guard properties.count < 1 << Entity.slotBits else {
            throw modelError(
                "\(name) has \(properties.count) properties; \(1 << Entity.slotBits - 1) is the most", entity: name)
        }
        for (slot, property) in properties.enumerated() where slot >= inherited.count {
            guard propertiesByName[property.name] == nil, !inherited.contains(where: { $0.name == property.name })
            else {
                throw modelError(
                    "\(name).\(property.name) repeats a property that \(name) inherits; remove one of them",
                    entity: name,
                    key: property.name)
            }
            guard model.nextPropertyNumber < 1 << (32 - Entity.slotBits) else {
                throw modelError("the model has more than a million properties", entity: name)
            }
            property.slot = UInt32(slot)
            property.key = model.nextPropertyNumber << Entity.slotBits | UInt32(slot)
            model.nextPropertyNumber += 1
        }
        propertiesByName = Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
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
        for attribute in ownAttributes { try attribute.check() }
        for relationship in ownRelationships { try relationship.check() }
        for index in indexes {
            for element in index.elements {
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

    private func checkReference(_ name: String, in what: String) throws {
        guard let property = propertiesByName[name] else {
            throw modelError(
                "\(what) of \(self.name) names \"\(name)\", which is no property of it", entity: self.name, key: name)
        }
        guard !property.isTransient, (property as? Relationship)?.isToMany != true else {
            throw modelError(
                "\(what) of \(self.name) names \"\(name)\", which has no column: it is transient or to-many",
                entity: self.name, key: name)
        }
    }
}

/// An index that the store keeps so that fetches by these properties are quick.
public struct FetchIndex: Sendable {
    public struct Element: Sendable {
        public let property: String
        public let isAscending: Bool

        public init(property: String, isAscending: Bool = true) {
            self.property = property
            self.isAscending = isAscending
        }
    }

    public let name: String
    public let elements: [Element]

    public init(name: String, elements: [Element]) {
        self.name = name
        self.elements = elements
    }
}
