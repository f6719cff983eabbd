import CorestoneContainers
import CorestoneFormats
import CorestoneGraph
import CorestoneModel
import CorestoneValues
import Glibc

/// A store type that the application registered.
package final class HostKind: StoreKind {
    package let type: StoreType
    package let host: any HostedType
    package var abilities: StoreAbilities { host.isAtomic ? host.abilities.union(.uniqueConstraints) : host.abilities }
    /// False, because a path of a custom store need not be a file path.
    package let hasFile = false
    package let isHosted = true

    package init(_ name: String, _ host: any HostedType) { (type, self.host) = (StoreType(rawValue: name), host) }

    package func open(_ path: String, model: Model, options: StoreOptions) throws -> any PersistentStore {
        let fresh = StoreMetadata(model: model, type: type)
        let opening = StoreOpening(
            type: type, path: path, model: model, configuration: options.configuration, isReadOnly: options.isReadOnly,
            mustExist: options.mustExist, isNew: HostKind.isMissingOrEmpty(path), metadata: fresh,
            options: options.hostOptions)
        let place = HostStoreIdentity(type: type, path: path, identifier: fresh.uuid.description)
        let opened: (store: any HostedStore, metadata: [String: PropertyListValue]?)?
        do { opened = try host.open(opening) } catch {
            throw HostCalls.failure(place, "be opened", nil, .persistentStoreOpen, error)
        }
        guard let (store, values) = opened else {
            let allow = "open the store without CST_STORE_MUST_EXIST (must_exist)"
            // A read-only store is not created.
            let mayCreate = options.mustExist && !options.isReadOnly
            let remedy: String
            if path.isEmpty {
                remedy = mayCreate ? "\(allow) to create it" : "pass its path"
            } else {
                remedy = mayCreate ? "check the path, or \(allow)" : "check the path"
            }
            throw CoreError(
                .storeIO, code: .persistentStoreOpen, "\(place.subject) does not exist; \(remedy)", file: place.file)
        }
        do {
            var metadata = try values.map { try self.metadata($0, fresh, path) } ?? fresh
            if !options.ignoresVersioning { try checkModel(metadata, model, path) }
            let reason =
                options.isReadOnly
                ? Store.isOpenForReading
                : store.canSave ? nil : "this store of type \(type.rawValue) does not support saving"
            let isMetadataChanged = options.ignoresVersioning && reason == nil && metadata.isOfAnotherModel(than: model)
            if isMetadataChanged { metadata.setModel(model) }
            if host.isAtomic {
                return try HostAtomicStore(
                    store, model, metadata, type: type, path: path, abilities: host.abilities, isNew: values == nil,
                    readOnlyReason: reason, isMetadataChanged: isMetadataChanged)
            }
            return CustomPersistentStore(
                store, model, metadata, type: type, path: path, abilities: host.abilities, readOnlyReason: reason,
                isMetadataChanged: isMetadataChanged)
        } catch {
            store.close()
            throw error
        }
    }

    /// Whether a path does not exist, or is an empty file, which may have been created to reserve the name.
    private static func isMissingOrEmpty(_ path: String) -> Bool {
        var facts = stat()
        guard !path.isEmpty, !path.utf8.contains(0), stat(path, &facts) == 0 else { return true }
        return facts.st_mode & S_IFMT == S_IFREG && facts.st_size == 0
    }

    /// Checks the metadata that a custom store returned, and completes it.
    private func metadata(
        _ values: [String: PropertyListValue], _ fresh: StoreMetadata, _ path: String
    ) throws -> StoreMetadata {
        var metadata = fresh
        metadata.values = values
        if let given = values[StoreMetadata.Key.uuid] {
            guard let text = given.string, let uuid = UUIDValue(text) else {
                throw CoreError(
                    .storeCorrupt, code: .persistentStoreOpen,
                    "\(StoreMetadata.Key.uuid) in the metadata of \(subject(path)) is "
                        + "\(given.string.map { "\"\($0)\", not a UUID" } ?? "not a string"); return the UUID with which the "
                        + "store was created", key: StoreMetadata.Key.uuid, value: given.string.map { .string($0) },
                    file: errorFile(path))
            }
            metadata.uuid = uuid
        }
        // Case is ignored, as in the search for store types.
        if let typeName = values[StoreMetadata.Key.storeType],
            typeName.string?.lowercased() != type.rawValue.lowercased()
        {
            let complaint =
                typeName.string.map {
                    "\"\($0)\", but the store is used as type \"\(type.rawValue)\"; use the type \"\($0)\""
                }
                ?? "not a string; return \"\(type.rawValue)\""
            throw CoreError(
                .notAStore, code: .persistentStoreTypeMismatch,
                "\(StoreMetadata.Key.storeType) in the metadata of \(HostStoreIdentity.displayName(path)) is \(complaint), or leave out "
                    + "\(StoreMetadata.Key.storeType)", key: StoreMetadata.Key.storeType,
                value: typeName.string.map { .string($0) }, file: errorFile(path))
        }
        metadata.values[StoreMetadata.Key.uuid] = nil
        metadata.values[StoreMetadata.Key.storeType] = .string(type.rawValue)
        return metadata
    }

    /// Returns the phrase for a store in messages. The path may be empty.
    private func subject(_ path: String) -> String {
        "the \(type.rawValue) store \(path.isEmpty ? "without a path" : path)"
    }

    /// Returns the file of an error, or nil for a store without a path.
    private func errorFile(_ path: String) -> String? { path.isEmpty ? nil : path }

    private func checkModel(_ metadata: StoreMetadata, _ model: Model, _ path: String) throws {
        if metadata.entityVersionHashes.isEmpty { return }
        let difference = metadata.differingEntities(from: model)
        if difference.isEmpty { return }
        throw CoreError(
            .modelMismatch, code: .persistentStoreIncompatibleVersionHash,
            "\(HostStoreIdentity.displayName(path)) was written with another model: \(difference.text); open the store with the model it was written with",
            entity: difference.first, file: errorFile(path))
    }

    // MARK: Functions for stores that are not open

    private func callingHost<Result>(_ doing: String, _ path: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.status == .unsupported { throw error } catch {
            throw HostCalls.failure(
                HostStoreIdentity(type: type, path: path, identifier: ""), doing, nil, .persistentStoreOperation, error)
        }
    }

    package func metadata(ofStoreAt path: String) throws -> StoreMetadata {
        guard let values = try callingHost("return its metadata", path, { try host.metadata(ofStoreAt: path) }) else {
            throw CoreError(
                .storeIO, code: .persistentStoreOperation,
                "\(subject(path)) does not exist; \(path.isEmpty ? "pass its path" : "check the path")",
                file: errorFile(path))
        }
        return try metadata(values, StoreMetadata(uuid: .random()), path)
    }

    package func setMetadata(_ metadata: StoreMetadata, ofStoreAt path: String) throws {
        try callingHost("set its metadata", path) { try host.setMetadata(metadata.dictionary, ofStoreAt: path) }
    }

    package func destroy(_ path: String, options: StoreOptions, removing: () throws -> Void) throws -> Bool {
        try removing()
        return try callingHost("be destroyed", path) { try host.destroy(path) }
    }

    package func replace(
        _ path: String, byStoreAt source: String, options: StoreOptions, removing: () throws -> Void
    ) throws {
        if path == source {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot replace \(HostStoreIdentity.displayName(path)) with itself; choose another path",
                key: "path", file: errorFile(path))
        }
        try removing()
        try callingHost("be replaced by \(HostStoreIdentity.displayName(source))", path) {
            try host.replace(path, byStoreAt: source)
        }
    }

    package func unlink(_ place: StoreLocation, if isEmpty: () -> Bool) {}
}

extension CoreError {
    /// Creates the error for an operation that a type of custom stores does not support.
    package static func unsupportedOperation(_ operation: String, type: String, path: String? = nil, reason: String)
        -> CoreError
    {
        CoreError(
            .unsupported, code: .persistentStoreOperation,
            (path.map { "the \(type) store \($0.isEmpty ? "without a path" : $0)" } ?? "stores of type \(type)")
                + " cannot \(operation): \(reason)",
            file: path)
    }
}
