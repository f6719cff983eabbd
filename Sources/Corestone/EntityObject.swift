import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The base class of the classes with typed properties that `corestone model codegen` generates.
///
/// An instance wraps a `ManagedObject`, and equals every other wrapper of the same object. Create a wrapper whenever it
/// is needed, on the queue of the object's context.
open class EntityObject: Hashable {
    public let managedObject: ManagedObject

    /// The name of the entity that the class represents.
    open class var entityName: String { "" }

    public required init(_ object: ManagedObject) { managedObject = object }

    public static func == (a: EntityObject, b: EntityObject) -> Bool { a.managedObject === b.managedObject }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(managedObject)) }

    /// Returns a fetch request for the objects of the entity.
    public class func fetchRequest(in context: Context) throws -> FetchRequest {
        FetchRequest(entity: try context.coordinator.model.requireEntity(named: entityName))
    }

    /// Returns the same object as an instance of another class, for instance of a subentity.
    ///
    /// - Returns: nil if the object's entity is neither the entity of the class nor a subentity of it.
    public func cast<Kind: EntityObject>(to kind: Kind.Type) -> Kind? {
        let entity = managedObject.objectID.entity
        guard let wanted = entity.model.entity(named: kind.entityName), entity.isKind(of: wanted) else { return nil }
        return kind.init(managedObject)
    }

    // MARK: Hooks, called if the class is bound to the model (`Model.bind`). `LifecycleHooks` documents when.

    open func awakeFromInsert() throws {}
    open func awakeFromFetch() throws {}
    open func awake(fromSnapshotEvents events: SnapshotEvents) throws {}
    open func willSave() throws {}
    open func didSave() throws {}
    open func prepareForDeletion() throws {}
    open func willTurnIntoFault() throws {}
    open func didTurnIntoFault() throws {}

    /// Stores nil when nil is set for a number or a Boolean that is stored as a scalar.
    ///
    /// An override may set another value.
    open func setNilValue(forKey key: String) throws { try managedObject.set(key, nil) }

    /// Validates the object as a save that inserts it does. An override calls `super` first, for all other checks.
    open func validateForInsert() throws { try managedObject.validate(for: .insert, asksHook: false) }
    /// Validates the object as a save that updates it does. An override calls `super` first.
    open func validateForUpdate() throws { try managedObject.validate(for: .update, asksHook: false) }
    /// Validates the object as a save that deletes it does. An override calls `super` first.
    open func validateForDelete() throws { try managedObject.validate(for: .delete, asksHook: false) }

    /// The properties for which `validate(_:forKey:)` is called.
    open class var validatedKeys: [String] { [] }
    /// Returns the value, or another value to be saved instead, or throws.
    ///
    /// It is called before the validation rules of the model are checked.
    open func validate(_ value: PropertyValue, forKey key: String) throws -> PropertyValue { value }
}

// MARK: - Accessors for the properties of subclasses

extension EntityObject {
    /// Returns the value of a property that is not optional.
    ///
    /// - Throws: `.validation` if the property does not have a value yet, as in a new object.
    public func requiredValue<Value: PropertyConvertible>(_ key: String) throws -> Value {
        if let value: Value = try managedObject.get(key) { return value }
        throw missing(key)
    }

    /// Returns the value of an optional property; nil if the value is null.
    public func optionalValue<Value: PropertyConvertible>(_ key: String) throws -> Value? {
        try managedObject.get(key)
    }

    public func setValue(_ value: (any PropertyConvertible)?, _ key: String) throws {
        try managedObject.set(key, value)
    }

    /// Returns the value of a transformable attribute, converted by its transformer; nil if the value is null.
    public func transformed<Value>(_ key: String) throws -> Value? { try managedObject.transformed(key) }

    /// Returns the converted value of a transformable attribute that is not optional.
    ///
    /// - Throws: `.validation` if the attribute does not have a value yet, as in a new object.
    public func requiredTransformed<Value>(_ key: String) throws -> Value {
        if let value: Value = try managedObject.transformed(key) { return value }
        throw missing(key)
    }

    public func setTransformed(_ value: Any?, _ key: String) throws { try managedObject.setTransformed(key, to: value) }

    /// Returns the objects of a fetched property.
    public func fetched<Kind: EntityObject>(_ key: String) throws -> [Kind] {
        try managedObject.fetched(key).map { Kind($0) }
    }

    private func missing(_ key: String) -> CoreError {
        let attribute = managedObject.objectID.entity.property(named: key) as? Attribute
        let fault: String
        if attribute?.derivation == nil {
            fault = "is nil but not optional; set it before reading it"
        } else if managedObject.isInserted {
            fault = "is nil until the first save computes it; call save first"
        } else {
            fault = "is nil but not optional; make it optional in the model, because it is computed at each save"
        }
        return CoreError(
            .validation, code: .validationMissingMandatoryProperty, "\(managedObject.entityName).\(key) \(fault)",
            entity: managedObject.entityName, key: key, objectURI: managedObject.objectID.uri)
    }

    /// Returns the target of a to-one relationship.
    public func target<Kind: EntityObject>(_ key: String) throws -> Kind? {
        let object: ManagedObject? = try managedObject.get(key)
        return object.map { Kind($0) }
    }

    public func setTarget(_ target: EntityObject?, _ key: String) throws {
        try managedObject.set(key, target?.managedObject)
    }

    /// Returns a snapshot of the members of a to-many relationship.
    public func members<Kind: EntityObject>(_ key: String) throws -> [Kind] {
        try managedObject.members(key).map { Kind($0) }
    }

    public func setMembers(_ members: [EntityObject], _ key: String) throws {
        try managedObject.setMembers(members.map(\.managedObject), of: key)
    }
}

extension Context {
    /// Inserts an object of a class's entity.
    public func insert<Kind: EntityObject>(_ kind: Kind.Type) throws -> Kind { kind.init(try insert(kind.entityName)) }

    /// Fetches objects of a class that satisfy a predicate.
    ///
    /// The parameters are those of `fetch(_:_:_:sort:limit:offset:)` with the name of an entity.
    public func fetch<Kind: EntityObject>(
        _ kind: Kind.Type, _ format: String? = nil, _ arguments: any PropertyConvertible..., sort: [String] = [],
        limit: Int = 0, offset: Int = 0
    ) throws -> [Kind] {
        let request = try request(kind.entityName, format, arguments, sort: sort, limit: limit, offset: offset)
        return try fetch(request).map { kind.init($0) }
    }
}
