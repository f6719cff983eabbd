import Corestone

extension CheckCommand {
    /// Files that no row refers to, found or removed.
    struct Leftovers {
        private let store: String
        private let files: StoreLeftovers
        private let areRemoved: Bool

        /// How many are named.
        private static let named = 3

        /// nil where the database is damaged: its rows cannot tell what they refer to.
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

        /// nil when there is nothing to say.
        var line: String? {
            if files.names.isEmpty { return areRemoved ? "leftovers: none" : nil }
            let count = "\(plural(files.names.count, "file")) with \(plural(files.bytes, "byte"))"
            if areRemoved { return "leftovers: removed \(count) from \(files.folder)" }
            let names = files.names.prefix(Leftovers.named).joined(separator: ", ")
            let more = files.names.count - Leftovers.named
            return
                "leftovers: no row refers to \(count) in \(files.folder): \(names)\(more > 0 ? " and \(more) more" : ""); "
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
