import CSQLite
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The type of stores in Apple's SQLite layout.
package struct SQLiteKind: StoreKind {
    package let type = StoreType.sqlite
    package let hasFile = true
    package let abilities: StoreAbilities = SQLiteStore.abilities

    package init() {}

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        let opened = try StoreOpener(path, model: model, options: options).run()
        return try SQLiteStore(opened, options: options)
    }

    /// Reads the metadata without locks.
    package func metadata(ofStoreAt path: String) throws -> StoreMetadata {
        let place = try StoreLocation(path)
        try place.requireStore()
        let contents = try StoreContents(ReadOnlyFile(place).connection, place: place)
        return contents.document.metadata ?? StoreMetadata(uuid: UUIDValue(contents.document.identifier) ?? .random())
    }

    /// Writes the metadata in place. Readers in other processes keep their snapshot.
    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws {
        let place = try StoreLocation(path)
        try place.requireStore()
        let connection = try Connection.forChanging(place, busyTimeout: nil, "write the metadata of \(path)")
        defer { connection.close() }
        try StoreMetadata.store(metadata, in: connection)
    }

    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool {
        let place = try StoreLocation(path)
        if place.state == .missing { return false }
        let destruction = StoreDestruction(place: place, busyTimeout: options.busyTimeoutMilliseconds)
        do {
            try destruction.check()
            try removing()
            try destruction.run()
        } catch let error as CoreError where error.status == .storeBusy && options.forcesDestruction {
            try removing()
            try destruction.unlinkAll()
        }
        return true
    }

    package func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void
    ) throws {
        let origin = try StoreLocation(source)
        try origin.requireStore()
        let file = try ReadOnlyFile(origin)
        defer { file.connection.close() }
        // The lost saves of a damaged log could not be recovered from the replacement.
        if let loss = file.loss, loss.isCertain(isSynchronous: true) {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOperation,
                "\(source) cannot replace \(path): \(loss.lostSaves) in the write-ahead log of \(source) cannot be read "
                    + "(from frame \(loss.frame)). Restore \(source) and its log from the same backup, or move the log away",
                file: source)
        }
        func transfer() throws {
            let folder = ExternalFile.folder(ofStore: origin.path)
            let place = try StoreLocation(path)
            let lost = try StoreTransfer(from: file.connection, folder, origin, to: place, options)
                .run(removing: removing)
            StoreTransfer.logMissingFiles(lost, in: folder, to: place)
        }
        if let watch = file.watch { try watch.reading(isOpenStore: false, transfer) } else { try transfer() }
    }

    package func requireReplaceable(_ path: String, options: StoreOptions) throws {
        let destruction = StoreDestruction(place: try StoreLocation(path), busyTimeout: options.busyTimeoutMilliseconds)
        try destruction.requireUnlocked("overwrite \(path)")
    }

    package func removeCopy(at path: String, besides others: [String]) throws {
        try MigrationCopy(place: StoreLocation(path)).remove(besides: others)
    }

    package func unlink(_ place: StoreLocation, if isEmpty: () -> Bool) {
        try? StoreDestruction(place: place, busyTimeout: 0).unlinkEmpty()
    }
}
