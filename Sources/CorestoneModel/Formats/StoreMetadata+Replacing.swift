import CorestoneFormats
import CorestoneValues

extension StoreMetadata {
    /// The keys of the entries that describe the store's type, format and model. Applications cannot change them.
    private static let guaranteed = [
        Key.storeType, Key.frameworkVersion, Key.hashes, Key.hashesVersion, Key.identifiers, Key.digest, Key.checksum,
        Key.autoVacuum, Key.deferredMigration, Key.model, Key.pastModels,
    ]

    /// Whether applications cannot change an entry, because it identifies or describes the store or its model.
    public static func isGuaranteed(_ key: String) -> Bool { key == Key.uuid || guaranteed.contains(key) }

    /// All entries, with the store's type and UUID, as Core Data returns the metadata of a store.
    public var dictionary: [String: PropertyListValue] {
        var result = values
        result[Key.uuid] = .string(uuid.description)
        return result
    }

    /// Returns the metadata with other entries.
    ///
    /// Entries that applications cannot change are kept, even if they are missing from `entries`.
    ///
    /// - Parameter file: the path of the store, for errors.
    /// - Throws: `.invalidArgument` with the key if `entries` has another value for an entry that applications cannot
    ///   change.
    public func replacing(_ entries: [String: PropertyListValue], file: String) throws -> StoreMetadata {
        var result = self
        result.values = entries
        result.values[Key.uuid] = nil
        if let given = entries[Key.uuid], given.string.flatMap({ UUIDValue($0) }) != uuid {
            throw StoreMetadata.refusal(Key.uuid, given, "is \(uuid), which is part of the store's object IDs", file)
        }
        for key in StoreMetadata.guaranteed {
            if let given = entries[key], given != values[key] {
                throw StoreMetadata.refusal(
                    key, given,
                    key == Key.storeType ? "identifies the type of the store" : "describes the store's format or model",
                    file, isNew: values[key] == nil)
            }
            result.values[key] = values[key]
        }
        return result
    }

    private static func refusal(
        _ key: String, _ given: PropertyListValue, _ reason: String, _ file: String, isNew: Bool = false
    ) -> CoreError {
        CoreError(
            .invalidArgument, code: .persistentStoreOperation,
            isNew
                ? "\(key) must not be added to the metadata of \(file): it \(reason); omit it"
                : "\(key) of \(file) must not change: it \(reason); omit it, or pass its current value",
            key: key, value: scalar(given), file: file)
    }

    /// Returns the value for an error; nil for a container.
    private static func scalar(_ value: PropertyListValue) -> PropertyValue? {
        switch value {
        case .bool(let flag): .bool(flag)
        case .integer(let number): .int(number)
        case .real(let number): .double(number)
        case .date(let seconds): .date(seconds)
        case .data(let bytes): .bytes(Bytes(bytes))
        case .string(let text): .string(text)
        case .null, .unsigned, .uid, .array, .dictionary: nil
        }
    }

    /// Decodes a property list from the application.
    ///
    /// - Throws: `.invalidArgument` if the bytes are not a property list with a dictionary as its root.
    public static func entries(decoding bytes: [UInt8], file: String) throws -> [String: PropertyListValue] {
        func failure(_ problem: String, _ cause: CoreError? = nil) -> CoreError {
            CoreError(
                .invalidArgument, code: .persistentStoreOperation, "the metadata for \(file) \(problem)",
                key: cause?.key ?? "plist", value: cause?.value, file: file, offset: cause?.offset ?? -1)
        }
        let decoded: PropertyListValue
        do { decoded = try decodeAnyPropertyList(bytes) } catch {
            throw failure(
                "cannot be read: \((error as? CoreError)?.message ?? "\(error)")",
                error as? CoreError)
        }
        guard case .dictionary(let entries) = decoded else {
            throw failure("is a property list without a dictionary as its root; pass a dictionary")
        }
        return entries
    }
}
