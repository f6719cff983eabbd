import CorestoneFileSystem
import CorestoneValues
import Glibc

/// The settings for the backup of a store that a migration creates before it changes the store.
///
/// The name of a backup is `NAME.backup-20261129T101500Z`, with the time in UTC.
///
/// A second backup within one second has the suffix `-2`. The name of a backup of a store without an extension ends
/// with `.store`, so that the backup and the store have different folders of backing files.
public struct MigrationBackup: Sendable {
    /// The folder of the backups; nil for the folder of the store.
    ///
    /// A relative path refers to the working directory at the time of the migration.
    public var folder: String?
    /// The number of newest backups that remain after a successful migration, including the backup of that migration.
    public var keep: Int

    public init(folder: String? = nil, keep: Int = 3) { (self.folder, self.keep) = (folder, keep) }

    /// Returns the paths of the backups of a store, the newest one first.
    ///
    /// - Parameters:
    ///   - path: The path of the store, which need not exist; relative to the working directory like `folder`.
    ///   - folder: The folder of the backups; nil for the folder of the store.
    /// - Throws: `.storeIO` if the folder cannot be read.
    public static func backups(ofStoreAt path: String, in folder: String? = nil) throws -> [String] {
        try MigrationBackup(folder: folder).copies(of: StoreLocation(path))
    }
}

extension MigrationBackup {
    private static let mark = ".backup-"
    private static let shortEnd = ".store"

    /// Throws if `keep` is out of range.
    package func requireSound(_ path: String) throws {
        guard keep < 1 else { return }
        throw CoreError(
            .invalidArgument, code: .migration,
            "the number of backups of \(path) to keep is \(keep), but must be at least 1", key: "keep",
            value: .int(Int64(keep)), file: path)
    }

    /// Creates a new backup at an unused path and returns the path.
    ///
    /// If another migration uses the path in the meantime, the next unused path is tried.
    package func copying(_ place: StoreLocation, _ copy: (_ path: String) throws -> Void) throws -> String {
        for _ in 1..<MigrationBackup.attempts {
            let path = try freePath(for: place)
            do {
                try copy(path)
                return path
            } catch {
                guard MigrationBackup.isTaken(path) else { throw error }
            }
        }
        let path = try freePath(for: place)
        try copy(path)
        return path
    }

    private static let attempts = 64

    private static func isTaken(_ path: String) -> Bool {
        var facts = stat()
        return ["", "-wal", "-journal"].contains { lstat(path + $0, &facts) == 0 }
    }

    /// Returns an unused path for a new backup.
    func freePath(for place: StoreLocation) throws -> String {
        let (folder, name) = try location(of: place)
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        func digits(_ number: Int32, _ count: Int = 2) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        let date = digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1) + digits(parts.tm_mday)
        let clock = digits(parts.tm_hour) + digits(parts.tm_min) + digits(parts.tm_sec)
        let end = MigrationBackup.hasExtension(name) ? "" : MigrationBackup.shortEnd
        var number = 1
        while true {
            let suffix = number == 1 ? "" : "-\(number)"
            let path = "\(folder)\(name)\(MigrationBackup.mark)\(date)T\(clock)Z\(suffix)\(end)"
            if !MigrationBackup.isTaken(path) { return path }
            number += 1
        }
    }

    /// Returns the backups of a store, the newest one first.
    package func copies(of place: StoreLocation) throws -> [String] {
        let (folder, name) = try location(of: place)
        guard let names = FolderNames(folder.isEmpty ? "." : folder) else {
            let error = SystemError.last
            let remedy =
                error.isMissing
                ? "; check the path of the folder" : error.remedyForReading("the folder", lost: nil)
            let shown = folder.isEmpty ? "." : folder
            throw CoreError(
                .storeIO, code: .migration,
                "cannot list the backups of \(place.given) in \(shown): \(error.text)\(remedy)", key: "folder",
                value: .string(shown), file: place.given)
        }
        let found = names.compactMap { file in MigrationBackup.age(of: file, storeNamed: name).map { (file, $0) } }
        return found.sorted { ($1.1.date, $1.1.number) < ($0.1.date, $0.1.number) }.map { "\(folder)\($0.0)" }
    }

    /// Whether a name has an extension, by the same rule as for the folder of a store's backing files.
    private static func hasExtension(_ name: String) -> Bool {
        name.lastIndex(of: ".").map { $0 != name.startIndex } ?? false
    }

    /// Returns the folder of the backups and the store's name.
    ///
    /// The folder ends with a slash, or is empty for the working directory.
    private func location(of place: StoreLocation) throws -> (folder: String, name: String) {
        // For a symbolic link, this is the path of the target.
        let path = place.path == place.absolute ? place.given : place.path
        let slash = path.lastIndex(of: "/")
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard let folder else { return (slash.map { String(path[...$0]) } ?? "", name) }
        guard !folder.isEmpty, !folder.utf8.contains(0) else {
            throw CoreError(
                .invalidArgument, code: .migration,
                "the path of the folder of the backups of \(place.given) "
                    + (folder.isEmpty ? "is empty; pass the path of a folder" : "contains a NUL byte; remove it"),
                key: "folder", value: .string(folder), file: place.given)
        }
        return (folder.hasSuffix("/") ? folder : folder + "/", name)
    }

    /// Parses the date and number in the name of a backup; nil for another file.
    private static func age(of file: String, storeNamed name: String) -> (date: String, number: Int)? {
        let beginning = name + mark
        guard file.hasPrefix(beginning) else { return nil }
        var rest = file.dropFirst(beginning.count)
        if !hasExtension(name) {
            guard rest.hasSuffix(shortEnd) else { return nil }
            rest = rest.dropLast(shortEnd.count)
        }
        let parts = rest.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let date = Array(parts[0].utf8)
        let isDate =
            date.count == 16 && date[8] == UInt8(ascii: "T") && date[15] == UInt8(ascii: "Z")
            && (Array(date[..<8]) + date[9..<15]).allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isDate else { return nil }
        guard parts.count == 2 else { return (String(parts[0]), 1) }
        guard let number = Int(parts[1]), number > 1, String(number) == parts[1] else { return nil }
        return (String(parts[0]), number)
    }
}

extension StoreKind {
    /// Deletes the backup of a migration that failed without changing the store. A failure is logged.
    package func removeCopy(_ path: String, of place: StoreLocation, _ backup: MigrationBackup) {
        do { try removeCopy(at: path, besides: backup.copies(of: place).filter { $0 != path }) } catch {
            let reason = (error as? CoreError)?.message ?? "\(error)"
            DebugLog.write("CoreData: warning: the backup \(path) was not removed: \(reason)")
        }
    }

    /// Deletes the oldest backups of a store beyond `keep`. Backups of another store with the same name stay.
    ///
    /// A failure is only logged, because the migration has succeeded.
    package func removeOldCopies(of place: StoreLocation, _ backup: MigrationBackup) {
        do {
            let uuid = try metadata(ofStoreAt: place.path).uuid
            var copies = try backup.copies(of: place)
            let own = copies.filter { (try? metadata(ofStoreAt: $0))?.uuid == uuid }
            for path in own.dropFirst(backup.keep) {
                copies.removeAll { $0 == path }
                try removeCopy(at: path, besides: copies)
            }
        } catch {
            let reason = (error as? CoreError)?.message ?? "\(error)"
            DebugLog.write("CoreData: warning: old backups of \(place.given) were not removed: \(reason)")
        }
    }
}
