import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Options of Apple's framework for what does not exist here: they are taken, so that a program that was ported says the same as
/// before, and the store has a warning for each. Others are refused, and those that have a name of their own here by that.
enum ForeignOptions {
    private static let reasons: [(prefix: String, why: String)] = [
        (
            "NSPersistentStoreUbiquitous",
            "stores are not synchronised with iCloud"
        ),
        (
            "NSPersistentStoreRemoveUbiquitousMetadata",
            "stores do not have iCloud metadata"
        ),
        (
            "NSPersistentStoreRebuildFromUbiquitousContent",
            "stores do not have iCloud content to rebuild from"
        ),
        (
            "NSPersistentStoreFileProtection",
            "files are protected by their permissions; set file_mode for a new store"
        ),
        ("NSExternalRecord", "external records for Spotlight are not written"),
        ("NSBinaryStore", "binary stores contain plain values, not archived objects"),
        ("NSValidateXMLStore", "the structure of an XML store is always validated, without its document type"),
        ("NSCoreDataCoreSpotlight", "objects are not indexed for Spotlight"),
    ]

    private static let known = [
        "NSPersistentStoreUbiquitousContentNameKey", "NSPersistentStoreUbiquitousContentURLKey",
        "NSPersistentStoreUbiquitousPeerTokenOption", "NSPersistentStoreUbiquitousContainerIdentifierKey",
        "NSPersistentStoreRemoveUbiquitousMetadataOption", "NSPersistentStoreRebuildFromUbiquitousContentOption",
        "NSPersistentStoreFileProtectionKey", "NSExternalRecordsFileFormatOption", "NSExternalRecordsDirectoryOption",
        "NSExternalRecordExtensionOption", "NSBinaryStoreSecureDecodingClasses",
        "NSBinaryStoreInsecureDecodingCompatibilityOption", "NSValidateXMLStoreOption",
        "NSCoreDataCoreSpotlightExporter",
    ]

    /// What the same option is called here: in C, in Python.
    private static let own = [
        "NSReadOnlyPersistentStoreOption": "CST_STORE_READ_ONLY (read_only)",
        "NSPersistentStoreTimeoutOption": "busy_timeout_ms (busy_timeout)",
        "NSSQLitePragmasOption": "pragmas",
        "NSSQLiteAnalyzeOption": "CST_STORE_ANALYZE (analyze)",
        "NSSQLiteManualVacuumOption": "CST_STORE_VACUUM (vacuum)",
        "NSIgnorePersistentStoreVersioningOption": "CST_STORE_IGNORE_VERSIONING (ignore_versioning)",
        "NSPersistentHistoryTrackingKey": "CST_STORE_HISTORY (history)",
        "NSPersistentStoreRemoteChangeNotificationPostOptionKey": "CST_STORE_POSTS_OWN_CHANGES (posts_own_changes)",
        "NSPersistentStoreConnectionPoolMaxSizeKey": "max_connections",
        "NSPersistentStoreForceDestroyOption": "CST_STORE_FORCE_DESTROY (force)",
    ]

    /// - Throws: `.invalidArgument` with the key for one that is not in the list.
    static func warnings(_ names: [String], path: String) throws -> [String] {
        try names.map { name in
            if known.contains(name), let reason = reasons.first(where: { name.hasPrefix($0.prefix) }) {
                return "\(path) was opened with \(name), which has no effect: \(reason.why)"
            }
            let remedy =
                own[name].map { "use \($0) instead" }
                ?? nearestName(to: name, among: known + own.keys.sorted()).map { "did you mean \"\($0)\"?" }
                ?? "leave it out. The accepted options are \(known.joined(separator: ", "))"
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) cannot be opened with the foreign option \"\(name)\"; \(remedy)", key: name, file: path)
        }
    }
}

extension StoreTypes {
    /// What will be left out of what the options ask for; told to the log too, if somebody reads it.
    static func warnings(_ options: StoreOptions, _ type: StoreType, _ path: String) throws -> [String] {
        if let name = options.hostOptions.keys.min(), try !kind(of: type).isHosted {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) cannot be opened with the custom option \"\(name)\", which \(type.rawValue) stores do not accept; "
                    + "leave it out, or open a custom store", key: name, value: options.hostOptions[name], file: path)
        }
        var warnings = try ForeignOptions.warnings(options.foreignOptions, path: path)
        if type != .sqlite {
            let unused = [
                (!options.pragmas.isEmpty, "pragmas"), (options.analyzes, "analyzing"), (options.vacuums, "vacuuming"),
                (options.keepsHistory || options.keepsCompleteHistory, "history"),
                (options.historyRetention != nil, "purging the history"),
            ].filter(\.0).map(\.1)
            if !unused.isEmpty {
                warnings.append(
                    "\(path) was opened with options for \(unused.joined(separator: ", ")), which have no effect on a store of type "
                        + "\(type.rawValue); use an SQLite store")
            }
            if try options.fileMode != nil && !kind(of: type).hasFile {
                warnings.append(
                    "\(path) was opened with a file mode, which has no effect on a store of type \(type.rawValue); use an SQLite, "
                        + "XML or Binary store")
            }
        }
        if type == .xml || type == .binary, !options.isReadOnly, let place = try? StorePlace(path), place.hasOtherNames
        {
            warnings.append(
                "\(path) has another hard link, which does not see saved changes, because a save replaces the file; use a "
                    + "symbolic link instead")
        }
        if DebugLog.sqlDetail != .nothing {
            for warning in warnings { DebugLog.write("CoreData: warning: \(warning)") }
        }
        return warnings
    }
}
