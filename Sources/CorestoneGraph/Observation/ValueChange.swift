import CorestoneValues

/// How a property changed, as its observers are told.
public struct ValueChange {
    /// Core Data's codes.
    public enum Kind: UInt32, Sendable {
        /// The value was set. Of a to-many relationship `old` and `new` are all members.
        case setting = 1
        /// Members came: `new`.
        case insertion
        /// Members went: `old`.
        case removal
        /// Some members, `old`, made room for others, `new`; or the same ones stand in another order.
        case replacement
    }

    public let kind: Kind
    /// As the observer gave it.
    public let keyPath: String
    /// The change is about to happen (`ObservationOptions.prior`); `new` is null.
    public let isPrior: Bool
    /// null where there was none: also for an insertion, and when the observation begins.
    public let old: PropertyValue
    /// null where there is none; the members of a to-many relationship are an array.
    public let new: PropertyValue
    /// Of ordered relationships: the places of `new` afterwards, or of `old` before where there is no `new`.
    public let indexes: [Int]
}

/// Core Data's codes. Old and new values always come.
public struct ObservationOptions: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The observer is told at once, of the value as it is.
    public static let initial = ObservationOptions(rawValue: 4)
    /// The observer is also told before each change. It may look then, not change relationships.
    public static let prior = ObservationOptions(rawValue: 8)
}

/// What there was of a property before a change.
enum FormerValue {
    case value(PropertyValue)
    case members(FormerMembers)
}

/// The members of a to-many relationship before a change.
struct FormerMembers {
    /// nil where they are known only by how they differ from the store's.
    var all: [ManagedObject]?
    var added, removed: [ManagedObject]

    init(of keeper: ToManyRelationship, whole: Bool) {
        if whole || keeper.relationship.isOrdered { all = try? keeper.all() }
        if all == nil, keeper.isFresh { all = keeper.addedMembers }
        (added, removed) = (keeper.addedMembers, keeper.removedMembers)
    }

    /// What came and what went since.
    func changes(of keeper: ToManyRelationship) -> (came: [ManagedObject], went: [ManagedObject]) {
        if let all {
            let now = (try? keeper.all()) ?? []
            return (now.without(all), all.without(now))
        }
        return (
            keeper.addedMembers.without(added) + removed.without(keeper.removedMembers),
            keeper.removedMembers.without(removed) + added.without(keeper.addedMembers)
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

    /// A change of members; nil when there is none.
    init?(_ keyPath: String, _ former: FormerMembers, now keeper: ToManyRelationship, asSetting: Bool) {
        if asSetting {
            self.init(.setting, keyPath, old: (former.all ?? []).asValue, new: ((try? keeper.all()) ?? []).asValue)
            return
        }
        if keeper.relationship.isOrdered, let old = former.all, let new = try? keeper.all() {
            self.init(keyPath, from: old, to: new)
            return
        }
        let (came, went) = former.changes(of: keeper)
        if came.isEmpty && went.isEmpty { return nil }
        let kind: Kind = went.isEmpty ? .insertion : came.isEmpty ? .removal : .replacement
        self.init(kind, keyPath, old: went.isEmpty ? .null : went.asValue, new: came.isEmpty ? .null : came.asValue)
    }

    /// A change of ordered members; nil when there is none.
    private init?(_ keyPath: String, from old: [ManagedObject], to new: [ManagedObject]) {
        func places(_ list: [ManagedObject], without others: [ManagedObject]) -> [Int] {
            var others = ObjectList(others)
            return list.indices.filter { !others.contains(list[$0]) }
        }
        let came = places(new, without: old), went = places(old, without: new)
        if went.isEmpty, !came.isEmpty, old.elementsEqual(new.without(came.map { new[$0] }), by: ===) {
            let members = came.map { new[$0] }.asValue
            self.init(kind: .insertion, keyPath: keyPath, isPrior: false, old: .null, new: members, indexes: came)
        } else if came.isEmpty, !went.isEmpty, new.elementsEqual(old.without(went.map { old[$0] }), by: ===) {
            let members = went.map { old[$0] }.asValue
            self.init(kind: .removal, keyPath: keyPath, isPrior: false, old: members, new: .null, indexes: went)
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
