import CorestoneModel

/// The registered objects of a context: at most one for each row of a store.
///
/// Each entity tree of each store has a table from primary keys to objects. The tables do not retain the objects: an
/// object removes itself when it is deallocated. The tables with store number 0 contain the objects with temporary IDs.
///
/// `IdentityMap+Invariants.swift` lists the invariants.
final class IdentityMap {
    /// The context, which owns the identity map.
    var context: Context { unretainedContext.takeUnretainedValue() }
    /// The context without a reference, for the frequent creation of faults.
    private(set) var unretainedContext: Unmanaged<Context>!
    /// The word with the thread of the context; see `Context.owner`.
    let owner: UnsafeMutablePointer<UInt64>
    private(set) var tables: [IdentityTable] = []
    /// Strong references to all registered objects; nil unless the context retains them (`retainsRegisteredObjects`).
    var retained: [ObjectIdentifier: ManagedObject]?
    /// Registrations and deregistrations of which custom stores have not been notified yet.
    var notices = RegistrationNotices()

    /// The entities of the model by index.
    let entities: [Entity]

    init(entities: [Entity], owner: UnsafeMutablePointer<UInt64>) { (self.entities, self.owner) = (entities, owner) }

    /// Attaches the identity map to its context. Called once, when the context is created.
    func attach(to context: Context) { unretainedContext = .passUnretained(context) }

    /// Returns the index of the table for a store and an entity tree.
    ///
    /// The table is created on first use. A context has few tables, so the search is linear.
    func index(store: Store?, root: Entity) -> Int {
        let (number, rootIndex) = (store?.number ?? 0, root.rootIndex)
        for index in tables.indices where tables[index].root == rootIndex && tables[index].store == number {
            return index
        }
        tables.append(IdentityTable(store: number, root: rootIndex))
        return tables.count - 1
    }

    /// Returns the table for a store and an entity tree.
    func table(store: Store?, root: Entity) -> KeyTable { tables[index(store: store, root: root)].table }

    /// Returns the registered object with a primary key.
    func object(store: Store?, root: Entity, primaryKey: Int64) -> ManagedObject? {
        table(store: store, root: root).find(primaryKey).map {
            Unmanaged<ManagedObject>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Returns the host slot of the registered object of a row, if its entity is `entity`; otherwise 0.
    @inline(__always)
    func hostSlot(store: UInt32, entity: Entity, primaryKey: Int64) -> UInt {
        let (root, index) = (entity.rootIndex, Int(entity.index))
        guard index < entities.count, entities[index] === entity else { return 0 }
        for place in tables.indices where tables[place].root == root && tables[place].store == store {
            guard let pointer = tables[place].table.find(primaryKey) else { return 0 }
            return Unmanaged<ManagedObject>.fromOpaque(pointer)._withUnsafeGuaranteedRef { object in
                object.entity === entity ? object.hostSlot : 0
            }
        }
        return 0
    }

    /// Records that a permanent key replaced a temporary reference.
    func note(_ temporary: Int64, became key: Int64, store: Store?, root: Entity) {
        let index = index(store: store, root: root)
        note(temporary, became: key, inTableAt: index)
    }

    /// Records that a permanent key of the table at `index` replaced a temporary reference.
    func note(_ temporary: Int64, became key: Int64, inTableAt index: Int) {
        tables[index].former.note(temporary, became: key)
    }

    /// Returns the permanent key that replaced a temporary reference, with the index of the object's table.
    ///
    /// Returns nil if the reference was not replaced yet.
    func permanentPlace(of reference: Int64, root: Entity) -> (index: Int, key: Int64)? {
        for index in tables.indices where tables[index].root == root.index {
            if let key = tables[index].former.key(of: reference) { return (index, key) }
        }
        return nil
    }

    /// The number of registered objects.
    var count: Int { tables.reduce(0) { $0 + $1.table.count } }

    /// All registered objects, in no particular order.
    var objects: [ManagedObject] {
        var all: [ManagedObject] = []
        for table in tables {
            table.table.forEach { _, pointer in
                all.append(Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue())
            }
        }
        return all
    }

    /// Removes all tables. The objects must have left the context.
    func removeAll() { tables = [] }
}

/// The registered objects of one entity tree in one store.
struct IdentityTable {
    /// The number of the store; 0 for objects with temporary IDs.
    let store: UInt32
    /// The index of the root entity.
    let root: UInt32
    let table = KeyTable()
    var former = FormerReferences()
}
