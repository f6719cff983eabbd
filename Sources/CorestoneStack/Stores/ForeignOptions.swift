import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Options of Apple's framework for what does not exist here: they are taken, so that a program that was ported says the same as
/// before, and the store has a warning for each. Others are refused, and those that have a name of their own here by that.
enum ForeignOptions {
    private static let reasons: [(prefix: String, why: String)] = [
        (
            "NSPersistentStoreUbiquitous",
            "iCloud's ubiquity, which Apple ended, does not exist here: nothing is synchronised"
        ),
        (
            "NSPersistentStoreRemoveUbiquitousMetadata",
            "iCloud's ubiquity, which Apple ended, does not exist here: there is no such metadata"
        ),
        (
            "NSPersistentStoreRebuildFromUbiquitousContent",
            "iCloud's ubiquity, which Apple ended, does not exist here: there is no content to rebuild from"
        ),
        (
            "NSPersistentStoreFileProtection",
            "files are protected by their permissions, which the file mode of a new store says, and by an encrypted disk"
        ),
        ("NSExternalRecord", "external records, Spotlight's copies of objects, are not written"),
        ("NSBinaryStore", "binary stores hold values, never objects of classes that a file names"),
        ("NSValidateXMLStore", "the structure of an XML store is always checked, and its document type never read"),
        ("NSCoreDataCoreSpotlight", "there is no Spotlight that objects could be indexed for"),
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
                return "\(path) was opened with \(name), which does nothing: \(reason.why)"
            }
            let remedy =
                own[name].map { "here it is called \($0)" }
                ?? nearestName(to: name, among: known + own.keys.sorted()).map { "did you mean \($0)?" }
                ?? "of Apple's options \(known.joined(separator: ", ")) are taken, and do nothing"
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) cannot be opened with the foreign option \(name): \(remedy)", key: name, file: path)
        }
    }
}

extension StoreTypes {
    /// What will be left out of what the options ask for; told to the log too, if somebody reads it.
    static func warnings(_ options: StoreOptions, _ type: StoreType, _ path: String) throws -> [String] {
        if let name = options.hostOptions.keys.min(), try !kind(of: type).isHosted {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOpen,
                "\(path) is to be a store of type \(type.rawValue), which takes no options of a host's, and \(name) is one; add it as a "
                    + "store of a type that you registered, or leave the option out", key: name, file: path)
        }
        var warnings = try ForeignOptions.warnings(options.foreignOptions, path: path)
        if type != .sqlite {
            let unused = [
                (!options.pragmas.isEmpty, "pragmas"), (options.analyzes, "analyzing"), (options.vacuums, "vacuuming"),
                (options.keepsHistory, "a history"),
            ].filter(\.0).map(\.1)
            if !unused.isEmpty {
                warnings.append(
                    "\(path) was opened with options for \(unused.joined(separator: ", ")), which a store of type "
                        + "\(type.rawValue) does not have; use a SQLite store")
            }
            if try options.fileMode != nil && !kind(of: type).hasFile {
                warnings.append(
                    "\(path) was opened with permissions for its file, and a store of type \(type.rawValue) has none of its own; use a "
                        + "SQLite, XML or Binary store")
            }
        }
        if type == .xml || type == .binary, !options.isReadOnly, let place = try? StorePlace(path), place.hasOtherNames
        {
            warnings.append(
                "the file of \(path) has another name besides (a hard link), and a save puts a new file in its place: by the other "
                    + "name nobody will see what is saved; use a symbolic link")
        }
        if DebugLog.sqlDetail != .nothing {
            for warning in warnings { DebugLog.write("CoreData: warning: \(warning)") }
        }
        return warnings
    }
}
