import CorestoneModel
import CorestoneValues

/// The changes of an Arrow import, so that they can be reverted.
final class ArrowChanges {
    private enum Former {
        case value(PropertyValue, UInt32)
        case target(ManagedObject?, Relationship)
        case members([ManagedObject], Relationship)
    }

    private let context: Context
    private var inserted: [ManagedObject] = []
    private var formers: [(object: ManagedObject, former: Former)] = []
    /// The objects that had no changes before.
    private var clean: [ManagedObject] = []

    init(_ context: Context) { self.context = context }

    func insert(_ entity: Entity) throws -> ManagedObject {
        let object = try context.insert(entity)
        inserted.append(object)
        return object
    }

    /// Sets an attribute of an existing object, unless it has the value. The object then remains unchanged.
    func set(_ value: PropertyValue, _ attribute: Attribute, of object: ManagedObject) throws {
        let accepted = try attribute.accept(value, for: object.entity)
        let former = try object.propertyValue(of: attribute)
        if former == accepted { return }
        keep(object, .value(former, attribute.key))
        try object.set(accepted, key: attribute.key)
    }

    func setTarget(_ target: ManagedObject?, _ relationship: Relationship, of object: ManagedObject) throws {
        let former = try object.target(of: relationship)
        if former === target { return }
        if let former { keepClean(former) }
        if let target { keepClean(target) }
        keep(object, .target(former, relationship))
        try object.set(target.map { .object($0) } ?? .null, key: relationship.key)
    }

    func setMembers(_ members: [ManagedObject], _ relationship: Relationship, of object: ManagedObject) throws {
        let former = try object.members(key: relationship.key)
        if former.elementsEqual(members, by: ===) { return }
        for member in former + members { keepClean(member) }
        keep(object, .members(former, relationship))
        try object.setMembers(members, key: relationship.key)
    }

    private func keep(_ object: ManagedObject, _ former: Former) {
        keepClean(object)
        formers.append((object, former))
    }

    private func keepClean(_ object: ManagedObject) {
        if !object.hasChanges, clean.last !== object { clean.append(object) }
    }

    /// Restores the former values, and removes the inserted objects.
    ///
    /// Continues after an error, for example of a hook, because the caller throws the error of the import.
    func revert() {
        for (object, former) in formers.reversed() where !object.isGone && !object.isDeleted {
            switch former {
            case .value(let value, let key): try? object.set(value, key: key)
            case .target(let target, let relationship):
                let target = target.flatMap { $0.isGone || $0.isDeleted ? nil : $0 }
                try? object.set(target.map { .object($0) } ?? .null, key: relationship.key)
            case .members(let members, let relationship):
                try? object.setMembers(members.filter { !$0.isGone && !$0.isDeleted }, key: relationship.key)
            }
        }
        // The relationships of these objects are empty now, so delete rules do not affect other objects.
        for object in inserted where !object.isGone && !object.isDeleted { try? context.delete(object) }
        try? context.processPendingChanges()
        for object in clean where !object.isGone && !object.isDeleted {
            object.discardEqualChanges(wasClean: false, restored: [])
        }
    }
}
