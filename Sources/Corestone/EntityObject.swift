import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The base of classes with typed properties for the objects of an entity, which `corestone model codegen` writes.
///
/// It stands for a `ManagedObject`, and is equal to whatever else does: on the queue of its context it may be made anew at
/// will.
open class EntityObject: Hashable {
    public let managedObject: ManagedObject

    /// The name of the entity whose objects the class is for.
    open class var entityName: String { "" }

    public required init(_ object: ManagedObject) { managedObject = object }

    public static func == (a: EntityObject, b: EntityObject) -> Bool { a.managedObject === b.managedObject }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(managedObject)) }

    /// A request for the objects of the entity.
    public class func fetchRequest(in context: Context) throws -> FetchRequest {
        FetchRequest(entity: try context.coordinator.model.requireEntity(named: entityName))
    }

    /// The same object by another class, that of a subentity say; nil when it is of another entity.
    public func cast<Kind: EntityObject>(to kind: Kind.Type) -> Kind? {
        let entity = managedObject.objectID.entity
        guard let wanted = entity.model.entity(named: kind.entityName), entity.isKind(of: wanted) else { return nil }
        return kind.init(managedObject)
    }

    // MARK: Hooks, called when the class is bound to the model (`Model.bind`). `LifecycleHooks` tells when each is called.

    open func awakeFromInsert() throws {}
    open func awakeFromFetch() throws {}
    open func awake(fromSnapshotEvents events: SnapshotEvents) throws {}
    open func willSave() throws {}
    open func didSave() throws {}
    open func prepareForDeletion() throws {}
    open func willTurnIntoFault() throws {}
    open func didTurnIntoFault() throws {}

    /// Somebody sets a number or a truth value to nil. This makes it nil; an override sets what it likes.
    open func setNilValue(forKey key: String) throws { try managedObject.set(key, nil) }

    /// Checks the object as a save would that inserts it. An override calls `super` first, which checks all else.
    open func validateForInsert() throws { try managedObject.validate(for: .insert, asksHook: false) }
    /// Checks the object as a save would that updates it. An override calls `super` first.
    open func validateForUpdate() throws { try managedObject.validate(for: .update, asksHook: false) }
    /// Checks the object as a save would that deletes it. An override calls `super` first.
    open func validateForDelete() throws { try managedObject.validate(for: .delete, asksHook: false) }

    /// The properties whose values `validate(_:forKey:)` is asked about.
    open class var validatedKeys: [String] { [] }
    /// Gives a value back that is fine, or another one to be saved instead, or throws; before the model's own conditions.
    open func validate(_ value: PropertyValue, forKey key: String) throws -> PropertyValue { value }
}

// MARK: - What properties are made of

extension EntityObject {
    /// The value of a property that is not optional.
    /// - Throws: `.validation` while it has no value yet, as in a fresh object.
    public func requiredValue<Value: PropertyConvertible>(_ key: String) throws -> Value {
        if let value: Value = try managedObject.get(key) { return value }
        throw missing(key)
    }

    /// The value of an optional property; nil when it is null.
    public func optionalValue<Value: PropertyConvertible>(_ key: String) throws -> Value? {
        try managedObject.get(key)
    }

    public func setValue(_ value: (any PropertyConvertible)?, _ key: String) throws {
        try managedObject.set(key, value)
    }

    /// The value of a transformable attribute as its transformer gives it; nil when there is none.
    public func transformed<Value>(_ key: String) throws -> Value? { try managedObject.transformed(key) }

    /// The same of one that is not optional.
    /// - Throws: `.validation` while it has no value yet, as in a fresh object.
    public func requiredTransformed<Value>(_ key: String) throws -> Value {
        if let value: Value = try managedObject.transformed(key) { return value }
        throw missing(key)
    }

    public func setTransformed(_ value: Any?, _ key: String) throws { try managedObject.setTransformed(key, to: value) }

    /// The objects of a fetched property.
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

    /// The target of a to-one relationship.
    public func target<Kind: EntityObject>(_ key: String) throws -> Kind? {
        let object: ManagedObject? = try managedObject.get(key)
        return object.map { Kind($0) }
    }

    public func setTarget(_ target: EntityObject?, _ key: String) throws {
        try managedObject.set(key, target?.managedObject)
    }

    /// The members of a to-many relationship, a snapshot.
    public func members<Kind: EntityObject>(_ key: String) throws -> [Kind] {
        try managedObject.members(key).map { Kind($0) }
    }

    public func setMembers(_ members: [EntityObject], _ key: String) throws {
        try managedObject.setMembers(members.map(\.managedObject), of: key)
    }
}

extension Context {
    /// A new object of the entity of a class.
    public func insert<Kind: EntityObject>(_ kind: Kind.Type) throws -> Kind { kind.init(try insert(kind.entityName)) }

    /// The objects of a class for which a predicate holds; see `fetch(_:_:_:sort:limit:offset:)` with an entity's name.
    public func fetch<Kind: EntityObject>(
        _ kind: Kind.Type, _ format: String? = nil, _ arguments: any PropertyConvertible..., sort: [String] = [],
        limit: Int = 0, offset: Int = 0
    ) throws -> [Kind] {
        let request = try request(kind.entityName, format, arguments, sort: sort, limit: limit, offset: offset)
        return try fetch(request).map { kind.init($0) }
    }
}
