import Corestone

extension CheckCommand {
    /// Orphaned backing files, found or removed.
    struct Leftovers {
        private let store: String
        private let files: StoreLeftovers
        private let areRemoved: Bool

        /// The number of files that are listed by name.
        private static let named = 3

        /// Finds orphaned files, or removes them with --remove-leftovers.
        ///
        /// Returns nil if the files cannot be found because the database is damaged.
        init?(_ options: Options, beside store: String, _ report: StoreReport) throws {
            self.store = store
            areRemoved = options.has("remove-leftovers")
            if areRemoved {
                files = try StoreLeftovers.remove(fromStoreAt: store)
                return
            }
            if report.problems.contains(where: \.kind.hidesRows) { return nil }
            do { files = try StoreLeftovers(ofStoreAt: store) } catch let error as CoreError
                where error.status == .storeCorrupt
            {
                return nil
            }
        }

        /// The line for the report; nil if there are no orphaned files, unless their removal was requested.
        var line: String? {
            if files.names.isEmpty { return areRemoved ? "leftovers: none" : nil }
            let count = "\(plural(files.names.count, "file")) with \(plural(files.bytes, "byte"))"
            if areRemoved { return "leftovers: removed \(count) from \(files.folder)" }
            let names = files.names.prefix(Leftovers.named).joined(separator: ", ")
            let more = files.names.count - Leftovers.named
            return
                "leftovers: \(count) in \(files.folder) without a row: \(names)\(more > 0 ? " and \(more) more" : ""); "
                + "run corestone check --remove-leftovers \(store) to remove them"
        }

        var json: JSON {
            .object([
                ("folder", .string(files.folder)), ("names", .array(files.names.map { .string($0) })),
                ("bytes", .number(files.bytes)), ("sharer", .optional(files.sharer)), ("removed", .bool(areRemoved)),
            ])
        }
    }
}
