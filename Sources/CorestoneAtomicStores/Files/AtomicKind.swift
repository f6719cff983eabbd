import CorestoneFileSystem
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// The type of atomic stores with a file.
package struct AtomicKind: StoreKind {
    let format: any AtomicFormat
    package var type: StoreType { format.type }
    package let hasFile = true
    package let abilities = StoreAbilities.uniqueConstraints

    init(_ format: any AtomicFormat) { self.format = format }

    /// One store kind for each format.
    package static let all: [AtomicKind] = [AtomicKind(XMLFormat()), AtomicKind(BinaryFormat())]

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        let file = StoreFile(try StoreLocation(path), format, options)
        return try file.open(model)
    }

    package func metadata(ofStoreAt path: String) throws -> StoreMetadata {
        let place = try StoreLocation(path)
        try place.requireStore()
        return try format.metadata(
            LocalFile(place.path, shownAs: path).bytes(limit: .max, holes: StoreLimits().valueBytes), path: path)
    }

    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws {
        let place = try StoreLocation(path)
        try place.requireStore()
        let file = LocalFile(place.path, shownAs: path)
        try StoreFile(place, format, StoreOptions(), areOptionsGiven: false).withExclusiveLock {
            let bytes = try file.bytes(limit: .max, holes: StoreLimits().valueBytes)
            do {
                try file.write(format.replacingMetadata(of: bytes, by: metadata, path: path))
            } catch let error as CoreError where error.file == nil {
                throw error.within("cannot set the metadata of \(path)", file: path)
            }
        }
    }

    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool {
        let place = try StoreLocation(path)
        if place.state == .missing { return false }
        // A file with content that is not a store of this type is not deleted.
        if place.state == .present { try requireReadable(path, "remove the file instead") }
        try removing()
        // Waits for a save of another process or coordinator.
        try StoreFile(place, format, options).withExclusiveLock {
            guard Glibc.unlink(place.path) == 0 || errno == ENOENT else {
                let error = SystemError.last
                throw CoreError(
                    error.isReadOnly ? .storeReadOnly : .storeIO, code: .persistentStoreOperation,
                    "cannot remove \(path): \(error.text)"
                        + (error.number == EACCES ? "; make its folder writable" : ""), file: path)
            }
        }
        return true
    }

    /// Throws if the file at `path`, which is to be removed or replaced, is not a readable store of this type.
    ///
    /// - Parameter remedy: The remedy for an unreadable store, which need not be restored.
    private func requireReadable(_ path: String, _ remedy: String) throws {
        do {
            _ = try metadata(ofStoreAt: path)
        } catch let error as CoreError where [.storeCorrupt, .unsupported].contains(error.status) {
            throw CoreError(
                error.status, "\(error.message.withoutRemedy); \(remedy)", domain: error.domain, customCode: error.code,
                entity: error.entity, key: error.key, value: error.value, objectURI: error.objectURI, file: error.file,
                offset: error.offset)
        }
    }

    package func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void
    ) throws { try copy(source, to: path, options: options, removing: removing) }

    /// Copies a store as `replace` does.
    ///
    /// - Parameter progress: Receives the number of written bytes and the total. If it returns false, copying fails
    ///   with `.cancelled`, and the file at `path` is unchanged.
    package func copy(
        _ source: String, to path: String, options: StoreOptions,
        progress: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }, removing: () throws -> Void = {}
    ) throws {
        try options.requireUsableFileMode(path)
        let origin = try StoreLocation(source)
        try origin.requireStore()
        let original = LocalFile(origin.path, shownAs: source)
        let bytes = try original.bytes(limit: .max, holes: options.limits.valueBytes)
        _ = try format.metadata(bytes, path: source)
        let place = try StoreLocation(path)
        guard place.path != origin.path else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot copy \(path) to itself; choose another path", key: "path", file: path)
        }
        // A file with content that is not a store of this type is not replaced.
        func check() throws { try requireReadable(path, "choose another path, or remove the file first") }
        if place.state == .present { try check() }
        try removing()
        var options = options
        options.permissionsOfSource = original.permissions
        try StoreFile(place, format, options).replace(by: bytes, check: check) { written in
            guard progress(written, bytes.count) else {
                throw CoreError(
                    .cancelled, code: .persistentStoreOperation,
                    "copying \(source) to \(path) was cancelled, and \(path) is unchanged", file: path)
            }
        }
    }

    /// Returns the first value that an SQLite store cannot store exactly; nil if it can store all values exactly.
    ///
    /// Such a value is NaN, or a decimal that is neither a 64-bit integer nor exactly equal to a double.
    ///
    /// - Parameter model: The frozen model of the store.
    package func valueBeyondSQLite(
        _ place: StoreLocation, _ model: Model, _ options: StoreOptions
    ) throws -> (entity: String, key: String, value: PropertyValue, uri: String)? {
        let nodes = format.nodes(model)
        let metadata = try format.decode(
            LocalFile(place.path, shownAs: place.given).bytes(limit: .max, holes: options.limits.valueBytes),
            into: nodes, path: place.given, skipped: nil)
        for entity in model.entities {
            let slots = (0..<Int(entity.slotCount)).filter {
                [.decimal, .double].contains(entity.layout.slots[$0].kind)
            }
            if slots.isEmpty { continue }
            for node in nodes.rows(of: entity) {
                for slot in slots {
                    let value = node.record.view(slot, entity.layout.slots[slot]).propertyValue
                    switch value {
                    case .decimal(let number) where number.integer == nil && DecimalNumber(number.double) != number:
                        break
                    case .double(let number) where number.isNaN: break
                    default: continue
                    }
                    let uri = ObjectID.uri(
                        ofKey: node.record.primaryKey, entity: entity.name, store: metadata.uuid.description)
                    return (entity.name, entity.properties[slot].path, value, uri)
                }
            }
        }
        return nil
    }

    /// Returns the state of the file as a text that differs after a write; nil if the file does not exist.
    package func stateText(of place: StoreLocation) -> String? { FileState(place.path)?.text }

    /// Replaces the content of a store with that of another store, with the given metadata.
    ///
    /// - Parameters:
    ///   - draft: The path of the other store, a file of this type that was written with `model`.
    ///   - knownState: The result of `stateText(of:)` when the store was read.
    /// - Returns: The open store; nil, with the store unchanged, if the store was written after it was read.
    package func replace(
        _ place: StoreLocation, byContentOf draft: String, model: Model, metadata: StoreMetadata,
        unless knownState: String?,
        options: StoreOptions
    ) throws -> (any PersistentStore)? {
        let nodes = format.nodes(model)
        _ = try format.decode(
            LocalFile(draft, shownAs: place.given).bytes(limit: .max, holes: options.limits.valueBytes), into: nodes,
            path: place.given, skipped: nil)
        let file = StoreFile(place, format, options)
        return try file.withExclusiveLock {
            guard self.stateText(of: place) == knownState else { return nil }
            try file.write(nodes, metadata)
            return NodeStore(nodes, metadata, type: type, file: file, path: place.absolute, options)
        }
    }

    package func requireReplaceable(_ path: String, options: StoreOptions) throws {
        _ = try metadata(ofStoreAt: path)
        try StoreFile(StoreLocation(path), format, options).requireUnlocked()
    }

    package func unlink(_ place: StoreLocation, if isEmpty: () -> Bool) {
        try? StoreFile(place, format, StoreOptions()).withExclusiveLock(patience: 0) {
            if isEmpty() { Glibc.unlink(place.path) }
        }
    }
}
