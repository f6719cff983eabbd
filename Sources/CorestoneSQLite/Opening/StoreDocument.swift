import CorestoneModel
import CorestoneValues

/// What a store says about itself: its identifier, and by which model and framework it was written.
struct StoreDocument {
    /// Upper-case UUID text.
    let identifier: String
    /// The binary property list of `Z_METADATA`.
    let propertyList: [UInt8]
    /// nil for a store that says nothing, as some very old ones.
    let metadata: StoreMetadata?

    /// By entity name; nil when the store does not say.
    var hashes: [String: [UInt8]]? {
        let known = metadata?.entityVersionHashes ?? [:]
        return known.isEmpty ? nil : known
    }

    /// For a new store of that model.
    init(fresh model: Model, vacuumLevel: Int = 2) {
        var metadata = StoreMetadata(model: model)
        metadata.values[StoreMetadata.Key.autoVacuum] = .string("\(vacuumLevel)")
        identifier = metadata.uuid.description
        propertyList = metadata.encoded()
        self.metadata = metadata
    }

    /// From the row of `Z_METADATA`.
    ///
    /// - Parameter path: the store, for errors.
    /// - Throws: `storeCorrupt` for bytes that are no property list.
    init(identifier: String, propertyList: [UInt8], path: String) throws {
        self.identifier = identifier
        self.propertyList = propertyList
        metadata =
            propertyList.isEmpty
            ? nil
            : try StoreMetadata(decoding: propertyList, uuid: UUIDValue(identifier) ?? .random(), ofStoreAt: path)
    }

    /// The compiled model as a store keeps it.
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
                "\(failure): \(error.message.withoutRemedy); restore the store from a backup", file: path,
                offset: error.offset)
        }
    }

    /// What the metadata says of its writer that keeps us from writing; nil when there is nothing of the kind.
    ///
    /// - Parameter hasDeferredTasks: whether the file lists what a deferred migration left, in our own table.
    func foreignState(hasDeferredTasks: Bool) -> String? {
        if values[Key.deferredMigration]?.flag == true, !hasDeferredTasks {
            return "it has an unfinished deferred migration; finish it in the application that owns the store "
                + "(finishDeferredLightweightMigration)"
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
