import CorestoneValues
import Synchronization

/// What attributes and relationships share.
public class Property: @unchecked Sendable {
    public let name: String
    /// The entity that declares it.
    public unowned let entity: Entity
    public internal(set) var isOptional = true
    public internal(set) var isTransient = false
    /// The name and the user info as C hosts read them: bytes that stay in place.
    package let nameText: Text
    private var userInfoTexts: [String: Text] = [:]
    /// Free data of the model's author.
    public var userInfo: [String: String] { userInfoTexts.mapValues(\.string) }
    package func userInfoText(_ key: String) -> Text? { userInfoTexts[key] }
    public private(set) var versionHashModifier: String?
    public private(set) var renamingIdentifier: String?
    /// The slot within the declaring entity and all that inherit from it. Set by `Model.freeze`.
    public internal(set) var slot: UInt32 = 0
    /// The slot and a number that is unique within the model. Set by `Model.freeze`.
    public internal(set) var key: UInt32 = 0
    /// The token by which C hosts know the property; 0 when none was asked for.
    package var token: UInt = 0
    /// The order of creation within the process.
    let ordinal: Int

    private static let created = Atomic<Int>(0)

    init(name: String, entity: Entity) {
        self.name = name
        nameText = Text(name)
        self.entity = entity
        ordinal = Property.created.add(1, ordering: .relaxed).newValue
    }

    public func setUserInfo(_ value: String?, forKey key: String) throws {
        try entity.model.change { userInfoTexts[key] = value.map { Text($0) } }
    }
    public func setVersionHashModifier(_ value: String?) throws {
        try entity.model.change { versionHashModifier = value }
    }
    public func setRenamingIdentifier(_ value: String?) throws {
        try entity.model.change { renamingIdentifier = value }
    }
    public func setOptional(_ value: Bool) throws { try entity.model.change { isOptional = value } }
    public func setTransient(_ value: Bool) throws { try entity.model.change { isTransient = value } }
}

/// A property that holds a value.
public final class Attribute: Property, @unchecked Sendable {
    public let type: AttributeType
    public private(set) var defaultValue = PropertyValue.null
    /// Large binary values may live in files beside the store.
    public private(set) var allowsExternalStorage = false
    /// The value is kept in the history when the object is deleted.
    public private(set) var preservesValueInHistory = false
    /// NaN and infinities pass validation.
    public private(set) var allowsNaN = false
    /// The transformer of a transformable attribute, kept for Apple's framework.
    public private(set) var valueTransformerName: String?

    init(name: String, type: AttributeType, entity: Entity) {
        self.type = type
        super.init(name: name, entity: entity)
    }

    /// The value of a fresh object; must suit the type.
    public func setDefaultValue(_ value: PropertyValue) throws {
        try entity.model.change { defaultValue = try accept(value) }
    }
    public func setAllowsExternalStorage(_ value: Bool) throws {
        try entity.model.change { allowsExternalStorage = value }
    }
    public func setPreservesValueInHistory(_ value: Bool) throws {
        try entity.model.change { preservesValueInHistory = value }
    }
    public func setAllowsNaN(_ value: Bool) throws { try entity.model.change { allowsNaN = value } }
    public func setValueTransformerName(_ value: String?) throws {
        try entity.model.change { valueTransformerName = value }
    }

    func check() throws {
        guard type != .undefined || isTransient else {
            throw modelError(
                "\(entity.name).\(name) has no type; only a transient attribute may do without", entity: entity.name,
                key: name)
        }
    }
}

public enum DeleteRule: UInt32, Sendable { case noAction = 0, nullify, cascade, deny }

/// A property that holds other objects.
public final class Relationship: Property, @unchecked Sendable {
    public unowned let destination: Entity
    /// The destination's place in the model. Set by `Model.freeze`.
    package internal(set) var destinationIndex: UInt32 = 0
    public private(set) unowned var inverse: Relationship?
    public private(set) var deleteRule = DeleteRule.nullify
    public internal(set) var isOrdered = false
    public private(set) var minimumCount: UInt32 = 0
    /// 1 makes it to-one; 0 is no bound.
    public internal(set) var maximumCount: UInt32 = 1
    public var isToMany: Bool { maximumCount != 1 }

    init(name: String, destination: Entity, entity: Entity) {
        self.destination = destination
        super.init(name: name, entity: entity)
    }

    /// Makes the two each other's inverse; a relationship may be its own.
    public func setInverse(_ other: Relationship) throws {
        try entity.model.change {
            guard other.entity.model === entity.model else {
                throw modelError(
                    "\(other.entity.name).\(other.name) belongs to another model than \(entity.name).\(name)",
                    entity: entity.name, key: name)
            }
            if let old = inverse, old !== other { old.inverse = nil }
            if let old = other.inverse, old !== self { old.inverse = nil }
            inverse = other
            other.inverse = self
        }
    }

    public func setDeleteRule(_ rule: DeleteRule) throws { try entity.model.change { deleteRule = rule } }

    public func setCounts(minimum: UInt32, maximum: UInt32) throws {
        try entity.model.change {
            guard maximum == 0 || minimum <= maximum else {
                throw modelError(
                    "\(entity.name).\(name) would need at least \(minimum) members and at most \(maximum)",
                    entity: entity.name, key: name)
            }
            guard maximum != 1 || !isOrdered else {
                throw modelError(
                    "\(entity.name).\(name) is ordered and cannot be limited to one member", entity: entity.name,
                    key: name)
            }
            minimumCount = minimum
            maximumCount = maximum
        }
    }

    func check() throws {
        guard let inverse else { return }
        guard inverse.destination.isKind(of: entity) || entity.isKind(of: inverse.destination) else {
            throw modelError(
                "\(entity.name).\(name) has the inverse \(inverse.entity.name).\(inverse.name), which leads to "
                    + "\(inverse.destination.name) instead of \(entity.name)", entity: entity.name, key: name)
        }
        guard inverse.entity.isKind(of: destination) || destination.isKind(of: inverse.entity) else {
            throw modelError(
                "\(entity.name).\(name) leads to \(destination.name), but its inverse \(inverse.name) belongs to "
                    + "\(inverse.entity.name)", entity: entity.name, key: name)
        }
    }
}

/// Core Data's codes of attribute types.
public enum AttributeType: Int32, Sendable, CaseIterable {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binary = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800

    /// For messages, as Xcode spells it.
    public var displayName: String {
        switch self {
        case .undefined: "Undefined"
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Boolean"
        case .date: "Date"
        case .binary: "Binary Data"
        case .uuid: "UUID"
        case .uri: "URI"
        case .transformable: "Transformable"
        }
    }
}
