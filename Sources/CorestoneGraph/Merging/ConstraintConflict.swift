import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A conflict of objects that have the same values for the properties of a unique constraint.
public final class ConstraintConflict: SaveConflict, @unchecked Sendable {
    /// The names of the properties whose combined values must be unique.
    public let constraint: [String]
    /// The values of these properties, by name. A to-one target is an ID.
    public let constraintValues: [String: PropertyValue]
    /// The ID of the stored object that already has the values; nil for a conflict within the context.
    public let databaseObjectID: ObjectID?
    /// The values of the stored object; nil for a conflict within the context.
    public let databaseSnapshot: ConflictSnapshot?
    /// The values of each object in `objectIDs`, in the same order.
    ///
    /// There is one object in a conflict with a stored object, and more than one in a conflict within the context.
    public let conflictingSnapshots: [ConflictSnapshot]
    private let entityName: String
    /// The path of the store; nil for a store without a path.
    private let path: String?

    init(
        _ objects: [ManagedObject], _ constraint: [String], _ values: [PropertyValue], database: Record? = nil,
        in context: Context, store: Store
    ) {
        self.constraint = constraint
        constraintValues = Dictionary(zip(constraint, values.map(\.withoutObject))) { first, _ in first }
        conflictingSnapshots = objects.map { $0.snapshot() }
        entityName = objects[0].entity.name
        path = store.path.isEmpty ? nil : store.path
        let entity = database.map { context.entity(at: $0.header.pointee.entity) }
        databaseObjectID = entity.flatMap { entity in
            database.map { ObjectID(store: store, entity: entity, reference: $0.primaryKey) }
        }
        databaseSnapshot = entity.flatMap { entity in database.map { entity.snapshot(of: $0, store) } }
        super.init(objects, in: context)
    }

    /// The context's object for the stored object, a new fault if no object was registered.
    ///
    /// Nil for a conflict within the context, on a thread other than the context's, and after the context was closed or
    /// deallocated.
    public var databaseObject: ManagedObject? {
        guard let context, let databaseObjectID, (try? context.checkQueue()) != nil else { return nil }
        return try? context.object(with: databaseObjectID)
    }

    override func resolve(as type: MergePolicyType, in context: Context) throws {
        if let databaseObjectID {
            guard let object = objects.first else { return }
            try context.conflictResolver.resolve(object, against: databaseObjectID, constraint, as: type)
        } else {
            try context.conflictResolver.resolve(duplicates: objects, constraint, as: type)
        }
    }

    /// The other object with the same values, in messages: its URI, and whether it is in the store or the context.
    private var other: String {
        databaseObjectID.map { "\($0.uri) in the store" } ?? "\(objectIDs[1].uri) in this context"
    }

    public override var message: String {
        let pairs = constraint.map { "\(entityName).\($0) is \(constraintValues[$0]?.shownInConflict ?? "")" }
            .joined(separator: " and ")
        return "\(pairs) in \(objectIDs[0].uri) and in \(other), but "
            + (constraint.count == 1 ? "must be unique" : "their combination must be unique")
    }

    override var error: CoreError {
        CoreError(
            .conflict, code: .managedObjectConstraintMerge,
            message + (constraint.count == 1 ? "; change the value" : "; change one of the values")
                + ", or change the other object instead",
            entity: entityName, key: constraint.first, value: constraint.first.flatMap { constraintValues[$0]?.asURI },
            objectURI: objectIDs[0].uri,
            children: constraint.count == 1
                ? []
                : constraint.map {
                    CoreError(
                        .conflict, code: .managedObjectConstraintMerge,
                        "\(entityName).\($0) of \(objectIDs[0].uri) is "
                            + "\(constraintValues[$0]?.shownInConflict ?? ""), and \(other) has the same values for "
                            + "the unique constraint \"\(constraint.joined(separator: ", "))\"; change one of the "
                            + "values",
                        entity: entityName, key: $0, value: constraintValues[$0]?.asURI,
                        objectURI: objectIDs[0].uri, file: path)
                }, file: path, payload: ConflictList([self]))
    }
}

extension PropertyValue {
    /// The value, with an object replaced by its ID.
    fileprivate var withoutObject: PropertyValue {
        if case .object(let object as ManagedObject) = self { return .object(ObjectIDReference(object.objectID)) }
        return self
    }

    /// The value, with an object replaced by its URI.
    fileprivate var asURI: PropertyValue {
        if case .object(let object) = self { return .uri(Text(object.valueDescription)) }
        return self
    }
}
