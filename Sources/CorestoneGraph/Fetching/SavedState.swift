import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A changed object as the store has it, for fetches that leave pending changes out but that the store cannot judge itself.
final class SavedState: KeyValueCoding {
    private let object: ManagedObject

    init(_ object: ManagedObject) { self.object = object }

    var original: any ValueObject { object }

    /// The object itself when it has no changes, else its saved state.
    static func of(_ object: ManagedObject) -> PropertyValue {
        .object(object.hasChanges ? SavedState(object) : object)
    }

    func value(forKey name: String) throws -> PropertyValue {
        // What only heirs of its entity have, or what is no property.
        guard let property = object.entity.property(named: name) else { return try object.value(for: KeyName(name)) }
        guard let relationship = property as? Relationship else {
            return object.asPredicatesSeeIt(try savedValue(Int(property.slot)), Int(property.slot))
        }
        // Also from one without changes the path leads on to others that have some.
        if relationship.isToMany { return .array(try savedMembers(relationship).map { .object(SavedState($0)) }) }
        guard case .object(let reference as ObjectIDReference) = try savedValue(Int(property.slot)),
            let context = object.context
        else { return .null }
        return .object(SavedState(try context.object(with: reference.id)))
    }

    /// The value of the object's row; of a newer one where a merge left that out.
    private func savedValue(_ slot: Int) throws -> PropertyValue {
        guard let context = object.context, context.hasDeferredMerge(object), let store = object.store else {
            return try object.committedValue(slot: slot)
        }
        return try context.withNewestRow(of: object, in: store) { row in
            try row.map { try object.standing(on: $0) { try object.committedValue(slot: slot) } } ?? .null
        }
    }

    func hasMembers(for key: KeyName) -> Bool { object.hasMembers(for: key) }

    private func savedMembers(_ relationship: Relationship) throws -> [ManagedObject] {
        guard let context = object.context else { return [] }
        if !object.hasChanges { return try object.toMany(relationship).all() }
        if context.parent != nil { return try object.toMany(relationship).membersWithoutDifferences() }
        guard let store = object.store else { return [] }
        let found = try context.using(store) {
            try context.reader(of: store).members(
                of: relationship, owners: [object.primaryKey], includingRows: false)
        }
        return found.members.map {
            context.object(store: store, entity: context.entity(at: $0.entity), primaryKey: $0.primaryKey)
        }
    }

    func isEqual(to other: any ValueObject) -> Bool { object.isEqual(to: other) }
    func hashIdentity(into hasher: inout Hasher) { object.hashIdentity(into: &hasher) }
    var valueDescription: String { object.valueDescription }
}
