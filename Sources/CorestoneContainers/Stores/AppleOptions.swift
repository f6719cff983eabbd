import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The options of Apple's framework that have no effect in this library.
///
/// They are accepted with a warning, so that a ported program need not change. Other options are rejected. If the
/// library has its own name for an option, the error suggests that name.
enum AppleOptions {
    private static let reasons: [(prefix: String, text: String)] = [
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

    /// The library's own names of options, by Apple's names: the name in C, and in parentheses the name in Python.
    private static let replacements = [
        "NSReadOnlyPersistentStoreOption": "CST_STORE_READ_ONLY (read_only)",
        "NSPersistentStoreTimeoutOption": "busy_timeout_ms (busy_timeout)",
        "NSSQLitePragmasOption": "pragmas",
        "NSSQLiteAnalyzeOption": "CST_STORE_ANALYZE (analyze)",
        "NSSQLiteManualVacuumOption": "CST_STORE_VACUUM (vacuum)",
        "NSIgnorePersistentStoreVersioningOption": "CST_STORE_IGNORE_VERSIONING (ignore_versioning)",
        "NSPersistentHistoryTrackingKey": "CST_STORE_HISTORY (history)",
        "NSPersistentStoreRemoteChangeNotificationPostOptionKey": "CST_STORE_POSTS_OWN_CHANGES (posts_own_changes)",
        "NSPersistentStoreConnectionPoolMaxSizeKey": "max_connections",
        "NSPersistentStoreForceDestroyOption":
            "CST_STORE_FORCE_DESTROY (force) with cst_coordinator_destroy_store (destroy_store, destroyStore)",
    ]

    /// Returns the warnings for the names of options.
    ///
    /// - Throws: `.invalidArgument` with the key for an option that is not in `known`.
    static func warnings(_ names: [String], path: String) throws -> [String] {
        try names.map { name in
            if known.contains(name), let reason = reasons.first(where: { name.hasPrefix($0.prefix) }) {
                return "\(Coordinator.shown(path)) ignores the option \(name): \(reason.text)"
            }
            let nearest = nearestName(to: name, among: known + replacements.keys.sorted())
            let guess = nearest.map { near in
                "did you mean \"\(near)\"?" + (replacements[near].map { " Use \($0) instead of that option" } ?? "")
            }
            let problem =
                replacements[name].map {
                    "the foreign option \"\(name)\", which has another name in Corestone; use \($0) instead"
                } ?? "the unknown foreign option \"\(name)\"; \(guess ?? "leave it out")"
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(Coordinator.shown(path)) cannot be opened with \(problem)", key: name, file: path)
        }
    }
}

extension StoreTypes {
    /// Returns warnings about options that have no effect and about hard links.
    ///
    /// Logs the warnings if SQL logging is enabled.
    ///
    /// - Throws: `.invalidArgument` with the key for a custom option of a built-in type, or for an unknown foreign
    ///   option.
    static func warnings(_ options: StoreOptions, _ type: StoreType, _ path: String) throws -> [String] {
        if let name = options.hostOptions.keys.min(), try !kind(of: type).isHosted {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(Coordinator.shown(path)) cannot be opened with the custom option \"\(name)\", which \(type.rawValue) stores "
                    + "do not accept; leave it out, or open a custom store",
                key: name, value: options.hostOptions[name], file: path)
        }
        var warnings = try AppleOptions.warnings(options.foreignOptions, path: path)
        if type != .sqlite {
            let unused = [
                (!options.pragmas.isEmpty, "pragmas"), (options.analyzes, "analysing"), (options.vacuums, "vacuuming"),
                (options.keepsHistory || options.keepsCompleteHistory, "history"),
                (options.historyRetention != nil, "purging the history"),
            ].filter(\.0).map(\.1)
            if !unused.isEmpty {
                warnings.append(
                    "\(Coordinator.shown(path)) ignores the options for \(unused.listed), which have no effect "
                        + "on a store of type \(type.rawValue); use an SQLite store")
            }
            if try options.fileMode != nil && !kind(of: type).hasFile {
                warnings.append(
                    "\(Coordinator.shown(path)) ignores the file mode, which has no effect on a store "
                        + "of type \(type.rawValue); use an SQLite, XML or Binary store")
            }
        }
        if type == .xml || type == .binary, !options.isReadOnly, let place = try? StoreLocation(path),
            place.hasOtherNames
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
