import CorestoneModel
import CorestoneValues

/// The identifier and the metadata of a store, which record the model and the framework that it was written with.
struct StoreDocument {
    /// The text of `Z_UUID`: an upper-case UUID in stores that the library created.
    let identifier: String
    /// The binary property list of `Z_METADATA`.
    let propertyList: [UInt8]
    /// The metadata; nil for a store without metadata, such as some very old stores.
    let metadata: StoreMetadata?

    /// The version hashes by entity name; nil if the store does not record them.
    var hashes: [String: [UInt8]]? {
        let known = metadata?.entityVersionHashes ?? [:]
        return known.isEmpty ? nil : known
    }

    /// Creates the metadata of a new store.
    init(fresh model: Model, vacuumLevel: Int = 2) {
        var metadata = StoreMetadata(model: model)
        metadata.values[StoreMetadata.Key.autoVacuum] = .string("\(vacuumLevel)")
        identifier = metadata.uuid.description
        propertyList = metadata.encoded()
        self.metadata = metadata
    }

    /// Decodes the row of `Z_METADATA`.
    ///
    /// - Parameter path: The path of the store, for errors.
    /// - Throws: `storeCorrupt` for bytes that are not a property list.
    init(identifier: String, propertyList: [UInt8], path: String) throws {
        self.identifier = identifier
        self.propertyList = propertyList
        metadata =
            propertyList.isEmpty
            ? nil
            : try StoreMetadata(decoding: propertyList, uuid: UUIDValue(identifier) ?? .random(), ofStoreAt: path)
    }

    /// Returns the compressed compiled model, as stored in `Z_MODELCACHE`.
    static func modelCache(of model: Model) throws -> [UInt8] { try deflateRaw(try compiledModel(model, form: .cache)) }

    static func versionHashes(of model: Model) -> [String: [UInt8]] { entityVersionHashes(of: model) }
}

extension StoreMetadata {
    /// Reads the property list of a store's `Z_PLIST`.
    ///
    /// - Throws: `storeCorrupt` for bytes that are not a property list with a dictionary at its root.
    init(decoding propertyList: [UInt8], uuid: UUIDValue, ofStoreAt path: String) throws {
        do { self = try StoreMetadata(decoding: propertyList, uuid: uuid) } catch let error as CoreError {
            let failure = "cannot read the metadata of \(path)"
            guard error.status == .storeCorrupt else { throw error.within(failure, file: path) }
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen,
                "\(failure): \(error.message.withoutRemedy); restore the store from a backup",
                key: error.key, value: error.value, file: path, offset: error.offset)
        }
    }

    /// Returns why the metadata makes the store read-only, as a clause for a message; nil if it does not.
    ///
    /// - Parameter hasDeferredTasks: Whether the file lists deferred tasks in this library's own table.
    func foreignState(hasDeferredTasks: Bool) -> String? {
        if values[Key.deferredMigration]?.flag == true, !hasDeferredTasks {
            return "it has an unfinished deferred migration; finish the deferred migration in the application that "
                + "owns the store (finishDeferredLightweightMigration)"
        }
        if frameworkVersion > StoreMetadata.frameworkVersion {
            return "it was written by version \(frameworkVersion) of the framework, but "
                + "\(StoreMetadata.frameworkVersion) is the newest supported version"
        }
        let rule = values[Key.hashesVersion]?.integer ?? StoreMetadata.hashesVersion
        if rule > StoreMetadata.hashesVersion {
            return "its version hashes have the format version \(rule), but \(StoreMetadata.hashesVersion) is the "
                + "newest supported one"
        }
        return nil
    }
}
