import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The saved values of an object, for predicates and sort keys that are evaluated in memory without unsaved changes.
final class SavedState: KeyValueCoding {
    private let object: ManagedObject

    init(_ object: ManagedObject) { self.object = object }

    var original: any ValueObject { object }

    /// Returns the object itself if it does not have unsaved changes, otherwise its saved state.
    static func of(_ object: ManagedObject) -> PropertyValue {
        .object(object.hasChanges ? SavedState(object) : object)
    }

    func value(forKey name: String) throws -> PropertyValue {
        // A property of a subentity, or a key that is not a property.
        guard let property = object.entity.property(named: name) else { return try object.value(for: KeyName(name)) }
        guard let relationship = property as? Relationship else {
            return object.asPredicatesSeeIt(try savedValue(Int(property.slot)), Int(property.slot))
        }
        // Targets and members may have unsaved changes even if this object does not, so their saved states are used.
        if relationship.isToMany { return .array(try savedMembers(relationship).map { .object(SavedState($0)) }) }
        guard case .object(let reference as ObjectIDReference) = try savedValue(Int(property.slot)),
            let context = object.context
        else { return .null }
        return .object(SavedState(try context.object(with: reference.id)))
    }

    /// Returns the value in the object's row, or in the newest row if a merge skipped a change of the row.
    private func savedValue(_ slot: Int) throws -> PropertyValue {
        guard let context = object.context, context.changeMerger.hasDeferredMerge(object), let store = object.store
        else {
            return try object.committedValue(slot: slot)
        }
        return try context.objectRefresh.withNewestRow(of: object, in: store) { row in
            try row.map { try object.withTemporaryRow($0) { try object.committedValue(slot: slot) } } ?? .null
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
            context.identityMap.object(store: store, entity: context.entity(at: $0.entity), primaryKey: $0.primaryKey)
        }
    }

    func isEqual(to other: any ValueObject) -> Bool { object.isEqual(to: other) }
    func hashIdentity(into hasher: inout Hasher) { object.hashIdentity(into: &hasher) }
    var valueDescription: String { object.valueDescription }
}
