import CorestoneValues

/// A property that holds a value.
public final class Attribute: Property, @unchecked Sendable {
    public private(set) var type: AttributeType
    public private(set) var defaultValue = PropertyValue.null
    /// Large binary values may live in files beside the store.
    public private(set) var allowsExternalStorage = false
    /// The value is kept in the history when the object is deleted.
    public private(set) var preservesValueInHistory = false
    /// NaN and infinities pass validation.
    public private(set) var allowsNaN = false
    /// A change of the attribute, which must be transient, does not make an object one that has changes. No part of model files.
    public private(set) var ignoresChanges = false
    /// The transformer of a transformable attribute, kept for Apple's framework.
    public private(set) var valueTransformerName: String?
    /// The class of the values of a transformable attribute in an Apple host.
    public private(set) var valueClassName: String?
    /// CloudKit keeps the values encrypted.
    public private(set) var allowsCloudEncryption = false
    /// Of a derived attribute; nil for all others.
    public internal(set) var derivation: Derivation?
    /// Of a composite attribute, in the author's order; they may be composite themselves.
    public private(set) var elements: [Attribute] = []
    /// The name of a composite attribute's type.
    public private(set) var compositeName: String?
    /// The composite attribute of which this one is an element.
    public private(set) unowned var composite: Attribute? { didSet { settlePath() } }

    public override var isRemoved: Bool { super.isRemoved || composite?.isRemoved == true }

    init(name: String, type: AttributeType, entity: Entity) {
        self.type = type
        super.init(name: name, entity: entity)
    }

    /// The value of a fresh object; must suit the type. That of a composite attribute is a dictionary, whose values become
    /// those of its elements.
    public func setDefaultValue(_ value: PropertyValue) throws {
        try change { takeDefault(try accept(value)) }
    }

    private func takeDefault(_ value: PropertyValue) {
        guard type == .composite else { return defaultValue = value }
        for element in elements { element.takeDefault(value[element: element.name]) }
    }

    /// The elements of a composite attribute are transient when it is.
    public override func setTransient(_ value: Bool) throws {
        try super.setTransient(value)
        for element in elements { try element.setTransient(value) }
    }

    override func settlePath() {
        path = (composite.map { $0.path + "." } ?? "") + name
        for element in elements { element.settlePath() }
    }

    /// Gives the attribute another type. What the new one has no use for goes: a default value that it does not take, bounds
    /// and patterns, elements, the transformer.
    public func setType(_ newType: AttributeType) throws {
        try change {
            if newType == type { return }
            let formerCodes = type.ruleCodes
            if newType.ruleCodes != formerCodes { replaceRules(of: formerCodes, by: []) }
            type = newType
            defaultValue = (try? accept(defaultValue)) ?? .null
            if newType != .transformable { (valueTransformerName, valueClassName) = (nil, nil) }
            if newType != .composite {
                entity.model.bury(elements)
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
                    + "set another type, or make it transient",
                entity: entity.name,
                key: path)
        }
        guard isTransient || !ignoresChanges else {
            throw modelError(
                "\(entity.name).\(path) ignores changes but is not transient; make it transient, or track its changes",
                entity: entity.name, key: path)
        }
        guard (type == .composite) == !elements.isEmpty else {
            let what =
                elements.isEmpty
                ? "is composite but does not have elements; add an element"
                : "has elements but is not composite; set its type to Composite, or remove the elements"
            throw modelError("\(entity.name).\(path) \(what)", entity: entity.name, key: path)
        }
        if composite != nil, derivation != nil {
            throw modelError(
                "\(entity.name).\(path) is an element of a composite attribute and cannot be derived; remove its derivation, "
                    + "or add a derived attribute to the entity",
                entity: entity.name, key: path)
        }
        for element in elements { try element.check() }
    }

    /// Adds an element to a composite attribute. Its key is its `path`.
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

    /// The same for an element whose name the caller knows to be free, without a search for it.
    func addNewElement(named name: String, type: AttributeType, isOptional: Bool) throws -> Attribute {
        try change {
            try checkName(name, of: "an element", in: entity.name)
            guard self.type == .composite, nesting < Attribute.maximumNesting else {
                let why =
                    self.type == .composite
                    ? "is nested \(Attribute.maximumNesting) levels deep, which is the limit; add the element to an outer attribute"
                    : "is not composite and cannot have elements; set its type to Composite first"
                throw modelError("\(entity.name).\(path) \(why)", entity: entity.name, key: path)
            }
            let element = Attribute(name: name, type: type, entity: entity)
            element.isOptional = isOptional
            element.isTransient = isTransient
            element.composite = self
            elements.append(element)
            return element
        }
    }

    /// Takes an element out of a composite attribute.
    public func removeElement(named name: String) throws {
        try change {
            guard let place = elements.firstIndex(where: { $0.name == name }) else {
                let hint = nearestName(to: name, among: elements.map(\.name)).map { "; did you mean \"\($0)\"?" } ?? ""
                throw modelError(
                    "\(entity.name).\(path) has no element \"\(name)\"\(hint)", entity: entity.name,
                    key: "\(path).\(name)")
            }
            entity.model.bury([elements.remove(at: place)])
        }
    }
}
