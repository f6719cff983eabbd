import CorestoneModel

extension IdentityMap {
    /// Verifies, in debug builds:
    /// - No two tables have the same store number and root entity.
    /// - Each registered object has the store and the entity tree of its table, and the key under which it is found.
    func checkInvariants() {
        #if DEBUG
            for (index, table) in tables.enumerated() {
                precondition(
                    !tables[..<index].contains { $0.store == table.store && $0.root == table.root },
                    "two identity tables for one entity tree")
                table.table.forEach { key, pointer in
                    let object = Unmanaged<ManagedObject>.fromOpaque(pointer).takeUnretainedValue()
                    precondition(object.primaryKey == key, "an object is registered under another key")
                    precondition(
                        (object.store?.number ?? 0) == table.store, "an object is registered for another store")
                    precondition(
                        object.entity.rootIndex == table.root, "an object is registered for another entity tree")
                }
            }
        #endif
    }
}
