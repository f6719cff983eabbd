import CorestoneValues

/// A change of a property, as reported to its observers.
public struct ValueChange {
    /// The kind of change, with Core Data's raw values.
    public enum Kind: UInt32, Sendable {
        /// The value was set. For a to-many relationship, `old` and `new` are all members.
        case setting = 1
        /// The members `new` were added.
        case insertion
        /// The members `old` were removed.
        case removal
        /// The members `old` were replaced by `new`, or the members were reordered.
        case replacement
    }

    public let kind: Kind
    /// The key path as passed to `observe`.
    public let keyPath: String
    /// Whether the change has not happened yet (`ObservationOptions.prior`).
    public let isPrior: Bool
    /// The former value; an array of members for a to-many relationship.
    ///
    /// Null if the property was null, for an insertion, and for the initial notification. Before a change of an
    /// unordered relationship, `old` may be null as well, because the members need not be loaded.
    public let old: PropertyValue
    /// The new value; an array of members for a to-many relationship.
    ///
    /// Null if the property is null, for a removal, and before a change.
    public let new: PropertyValue
    /// The indexes of the members of an ordered relationship; empty for `setting` and for other properties.
    ///
    /// They are the indexes of `new` after the change or, for a removal, the indexes of `old` before the change.
    public let indexes: [Int]
}

/// The options of an observation, with Core Data's raw values.
///
/// Options for old and new values do not exist, because both values are reported without an option.
public struct ObservationOptions: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The observer is notified immediately of the current value.
    public static let initial = ObservationOptions(rawValue: 4)
    /// The observer is also notified before each change.
    ///
    /// Before a change of a relationship, the handler must not change relationships, refresh objects, undo or roll
    /// back.
    public static let prior = ObservationOptions(rawValue: 8)
}

/// The value of a property before a change.
enum FormerValue {
    case value(PropertyValue)
    case members(FormerMembers)
}

/// The members of a to-many relationship before a change.
struct FormerMembers {
    /// All members; nil if only the differences from the store are known.
    var all: [ManagedObject]?
    var added, removed: [ManagedObject]

    init(of collection: ToManyRelationship, whole: Bool) {
        if whole || collection.relationship.isOrdered { all = try? collection.all() }
        if all == nil, collection.isFresh { all = collection.addedMembers }
        (added, removed) = (collection.addedMembers, collection.removedMembers)
    }

    /// Returns the members that were added and removed since the change began.
    func changes(of collection: ToManyRelationship) -> (inserted: [ManagedObject], removed: [ManagedObject]) {
        if let all {
            let now = (try? collection.all()) ?? []
            return (now.without(all), all.without(now))
        }
        return (
            collection.addedMembers.without(added) + removed.without(collection.removedMembers),
            collection.removedMembers.without(removed) + added.without(collection.addedMembers)
        )
    }
}

extension [ManagedObject] {
    fileprivate func without(_ others: [ManagedObject]) -> [ManagedObject] {
        if isEmpty || others.isEmpty { return self }
        var others = ObjectList(others)
        return filter { !others.contains($0) }
    }

    var asValue: PropertyValue { .array(map { .object($0) }) }
}

extension ValueChange {
    init(_ kind: Kind, _ keyPath: String, isPrior: Bool = false, old: PropertyValue = .null, new: PropertyValue = .null)
    {
        self.init(kind: kind, keyPath: keyPath, isPrior: isPrior, old: old, new: new, indexes: [])
    }

    /// Creates a change of members; nil if the members are equal and were not set.
    init?(_ keyPath: String, _ former: FormerMembers, now collection: ToManyRelationship, asSetting: Bool) {
        if asSetting {
            self.init(.setting, keyPath, old: (former.all ?? []).asValue, new: ((try? collection.all()) ?? []).asValue)
            return
        }
        if collection.relationship.isOrdered, let old = former.all, let new = try? collection.all() {
            self.init(keyPath, from: old, to: new)
            return
        }
        let (inserted, removed) = former.changes(of: collection)
        if inserted.isEmpty && removed.isEmpty { return nil }
        let kind: Kind = removed.isEmpty ? .insertion : inserted.isEmpty ? .removal : .replacement
        self.init(
            kind, keyPath, old: removed.isEmpty ? .null : removed.asValue,
            new: inserted.isEmpty ? .null : inserted.asValue)
    }

    /// Creates a change of ordered members; nil if the members and their order are equal.
    private init?(_ keyPath: String, from old: [ManagedObject], to new: [ManagedObject]) {
        func places(_ list: [ManagedObject], without others: [ManagedObject]) -> [Int] {
            var others = ObjectList(others)
            return list.indices.filter { !others.contains(list[$0]) }
        }
        let inserted = places(new, without: old), removed = places(old, without: new)
        if removed.isEmpty, !inserted.isEmpty, old.elementsEqual(new.without(inserted.map { new[$0] }), by: ===) {
            let members = inserted.map { new[$0] }.asValue
            self.init(kind: .insertion, keyPath: keyPath, isPrior: false, old: .null, new: members, indexes: inserted)
        } else if inserted.isEmpty, !removed.isEmpty, new.elementsEqual(old.without(removed.map { old[$0] }), by: ===) {
            let members = removed.map { old[$0] }.asValue
            self.init(kind: .removal, keyPath: keyPath, isPrior: false, old: members, new: .null, indexes: removed)
        } else if old.count == new.count {
            let places = old.indices.filter { old[$0] !== new[$0] }
            if places.isEmpty { return nil }
            self.init(
                kind: .replacement, keyPath: keyPath, isPrior: false, old: places.map { old[$0] }.asValue,
                new: places.map { new[$0] }.asValue, indexes: places)
        } else {
            self.init(.setting, keyPath, old: old.asValue, new: new.asValue)
        }
    }
}
