import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// Stores in Apple's SQLite layout.
package struct SQLiteKind: StoreKind {
    package let type = StoreType.sqlite
    package let hasFile = true
    package let abilities: StoreAbilities = SQLiteStore.abilities

    package init() {}

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        let opened = try StoreOpening(path, model: model, options: options).run()
        return try SQLiteStore(opened, options: options)
    }

    /// Locks nothing.
    package func metadata(ofStoreAt path: String) throws -> StoreMetadata {
        let place = try StorePlace(path)
        try place.requireStore()
        let contents = try StoreContents(ReadOnlyFile(place).connection, place: place)
        return contents.document.metadata ?? StoreMetadata(uuid: UUIDValue(contents.document.identifier) ?? .random())
    }

    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws {
        let place = try StorePlace(path)
        try place.requireStore()
        let connection = try Connection(place.path, path: place.given, flags: SQLITE_OPEN_READWRITE)
        try FileHeader(connection).requireDatabase(place, connection)
        _ = try StoreContents(connection, place: place)
        sqlite3_busy_timeout(connection.db, Int32(clamping: StoreOptions().busyTimeoutMilliseconds))
        // One statement: a transaction of its own.
        try StoreMetadata.store(metadata, in: connection)
    }

    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool {
        let place = try StorePlace(path)
        if place.state == .missing { return false }
        let destruction = StoreDestruction(place: place, busyTimeout: options.busyTimeoutMilliseconds)
        try destruction.check()
        try removing()
        try destruction.run()
        return true
    }

    package func unlink(_ place: StorePlace) {
        for companion in ["", "-wal", "-shm"] { Glibc.unlink(place.path + companion) }
    }
}
