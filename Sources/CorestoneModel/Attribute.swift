import CorestoneValues

/// A property whose value is data, such as a number or a string.
public final class Attribute: Property, @unchecked Sendable {
    public private(set) var type: AttributeType
    public private(set) var defaultValue = PropertyValue.null
    /// Whether large binary values may be stored in backing files.
    public private(set) var allowsExternalStorage = false
    /// Whether the value is kept in the tombstone of a deleted object.
    public private(set) var preservesValueInHistory = false
    /// Whether NaN and infinities are valid.
    public private(set) var allowsNaN = false
    /// Whether a change of the attribute, which must be transient, does not make the object dirty.
    ///
    /// The setting is not stored in model files.
    public private(set) var ignoresChanges = false
    /// The name of the transformer of a transformable attribute.
    public private(set) var valueTransformerName: String?
    /// The class of the values of a transformable attribute on Apple's platforms.
    public private(set) var valueClassName: String?
    /// Whether CloudKit encrypts the values.
    public private(set) var allowsCloudEncryption = false
    /// The derivation of a derived attribute; nil for other attributes.
    public internal(set) var derivation: Derivation?
    /// The elements of a composite attribute, in the author's order. They may be composite themselves.
    public private(set) var elements: [Attribute] = []
    /// The name of a composite attribute's type.
    public private(set) var compositeName: String?
    /// The composite attribute of which this one is an element; nil for other attributes.
    public private(set) unowned var composite: Attribute? { didSet { updatePath() } }

    public override var isRemoved: Bool { super.isRemoved || composite?.isRemoved == true }

    init(name: String, type: AttributeType, entity: Entity) {
        self.type = type
        super.init(name: name, entity: entity)
    }

    /// Sets the default value, which must be valid for the type.
    ///
    /// For a composite attribute, the value is a dictionary whose entries become the default values of the elements.
    public func setDefaultValue(_ value: PropertyValue) throws {
        try change { applyDefault(try accept(value)) }
    }

    private func applyDefault(_ value: PropertyValue) {
        guard type == .composite else { return defaultValue = value }
        for element in elements { element.applyDefault(value[element: element.name]) }
    }

    /// Sets whether the attribute is transient, including the elements of a composite attribute.
    public override func setTransient(_ value: Bool) throws {
        try super.setTransient(value)
        for element in elements { try element.setTransient(value) }
    }

    override func updatePath() {
        path = (composite.map { $0.path + "." } ?? "") + name
        for element in elements { element.updatePath() }
    }

    /// Changes the type.
    ///
    /// Settings that the new type does not support are removed: a default value of another type, bounds and patterns,
    /// elements, and the transformer and class of the values.
    public func setType(_ newType: AttributeType) throws {
        try change {
            if newType == type { return }
            let formerCodes = type.ruleCodes
            if newType.ruleCodes != formerCodes { replaceRules(of: formerCodes, by: []) }
            type = newType
            defaultValue = (try? accept(defaultValue)) ?? .null
            if newType != .transformable { (valueTransformerName, valueClassName) = (nil, nil) }
            if newType != .composite {
                entity.model.registerRemoved(elements)
                (elements, compositeName) = ([], nil)
            }
        }
    }
    public func setAllowsExternalStorage(_ value: Bool) throws {
        try change { allowsExternalStorage = value }
    }
    public func setPreservesValueInHistory(_ value: Bool) throws {
        try change { preservesValueInHistory = value }
    }
    public func setAllowsCloudEncryption(_ value: Bool) throws {
        try change { allowsCloudEncryption = value }
    }
    public func setValueClassName(_ value: String?) throws { try change { valueClassName = value } }
    public func setDerivation(_ value: Derivation?) throws { try change { derivation = value } }
    public func setCompositeName(_ value: String?) throws { try change { compositeName = value } }
    public func setAllowsNaN(_ value: Bool) throws { try change { allowsNaN = value } }
    public func setIgnoresChanges(_ value: Bool) throws { try change { ignoresChanges = value } }
    public func setValueTransformerName(_ value: String?) throws {
        try change { valueTransformerName = value }
    }

    func check() throws {
        guard isTransient || type != .undefined && type != .objectID else {
            throw modelError(
                "\(entity.name).\(path) has the type \(type.displayName), which only a transient attribute can have; "
                    + "set another type, or make \(composite == nil ? "it" : "the composite attribute") transient",
                entity: entity.name,
                key: path)
        }
        guard isTransient || !ignoresChanges else {
            throw modelError(
                "\(entity.name).\(path) ignores changes but is not transient; make "
                    + "\(composite == nil ? "it" : "the composite attribute") transient, or clear "
                    + "CST_PROPERTY_IGNORES_CHANGES (ignores_changes, setIgnoresChanges)",
                entity: entity.name, key: path)
        }
        guard (type == .composite) == !elements.isEmpty else {
            let problem =
                elements.isEmpty
                ? "is composite but does not have elements; add an element"
                : "has elements but is not composite; set its type to Composite, or remove the elements"
            throw modelError("\(entity.name).\(path) \(problem)", entity: entity.name, key: path)
        }
        if composite != nil, derivation != nil {
            throw modelError(
                "\(entity.name).\(path) is an element of a composite attribute and cannot be derived; remove its derivation, "
                    + "or add a derived attribute to the entity",
                entity: entity.name, key: path)
        }
        for element in elements { try element.check() }
    }

    /// Adds an element to a composite attribute. The key of the element is its `path`.
    @discardableResult
    public func addElement(named name: String, type: AttributeType, isOptional: Bool = true) throws -> Attribute {
        try change {
            guard !elements.contains(where: { $0.name == name }) else {
                throw modelError(
                    "\(entity.name).\(path) already has an element \"\(name)\"; choose another name",
                    entity: entity.name, key: "\(path).\(name)")
            }
            return try addNewElement(named: name, type: type, isOptional: isOptional)
        }
    }

    /// Adds an element without a search for its name, which the caller has checked to be unused.
    func addNewElement(named name: String, type: AttributeType, isOptional: Bool) throws -> Attribute {
        try change {
            try checkName(name, of: "an element", in: entity.name, composite: path)
            guard self.type == .composite, nesting < Attribute.maximumNesting else {
                let problem =
                    self.type == .composite
                    ? "is nested \(Attribute.maximumNesting) levels deep, which is the limit; add the element to an outer attribute"
                    : "is not composite and cannot have elements; set its type to Composite first"
                throw modelError("\(entity.name).\(path) \(problem)", entity: entity.name, key: path)
            }
            let element = Attribute(name: name, type: type, entity: entity)
            element.isOptional = isOptional
            element.isTransient = isTransient
            element.composite = self
            elements.append(element)
            return element
        }
    }

    /// Removes an element from a composite attribute.
    public func removeElement(named name: String) throws {
        try change {
            guard let place = elements.firstIndex(where: { $0.name == name }) else {
                let hint = nearestName(to: name, among: elements.map(\.name)).map { "; did you mean \"\($0)\"?" } ?? ""
                throw modelError(
                    "\(entity.name).\(path) has no element \"\(name)\"\(hint)", entity: entity.name,
                    key: "\(path).\(name)")
            }
            entity.model.registerRemoved([elements.remove(at: place)])
        }
    }
}
