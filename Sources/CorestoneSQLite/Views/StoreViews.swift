import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// Views of SQL by which any tool for SQLite shows an SQLite store under the names of its model: one for each entity, and one for
/// each relationship whose pairs lie in a table of their own.
///
/// The store itself stays as it is: views are made in a session (`TEMP`), or in a copy. Apple's framework migrates a store by
/// altering its tables, and SQLite refuses that where a view names them.
public struct StoreViews: Sendable {
    /// How dates are shown.
    public enum Dates: UInt32, Sendable, CaseIterable {
        /// ISO 8601 in UTC, to the millisecond: what sorts as text and what the date functions of SQLite take.
        case text
        /// Seconds since 1970.
        case unix
        /// Seconds since 2001, as they are stored.
        case reference
    }

    public struct View: Sendable {
        public let name: String
        /// The entity whose objects it shows; nil for the pairs of a relationship.
        public let entity: String?
        public let statement: String
    }

    public let views: [View]
    private let path: String
    private let isTemporary: Bool

    /// - Parameters:
    ///   - path: an SQLite store; neither the file nor its folder changes.
    ///   - model: nil for the one that the store carries, else one inferred from its tables.
    ///   - isTemporary: whether the views end with the session in which they are made.
    /// - Throws: as `Coordinator.open`.
    public init(ofStoreAt path: String, model: Model? = nil, dates: Dates = .text, isTemporary: Bool = true) throws {
        let place = try StorePlace(path)
        try place.requireStore()
        let file = try ReadOnlyFile(place)
        defer { file.connection.close() }
        let schema = try StoreExamination(file.connection, model: model, place: place).schema
        var maker = ViewMaker(schema: schema, dates: dates, isTemporary: isTemporary)
        self.path = path
        self.isTemporary = isTemporary
        views = maker.makeAll()
    }

    /// All statements, for a shell of SQLite.
    public var script: String {
        "BEGIN;\n" + views.map { $0.statement + ";\n" }.joined() + "COMMIT;\n"
    }

    /// Makes the views in another file that has the same tables: a copy of the store. A view of the same name is replaced.
    ///
    /// - Throws: `.invalidArgument` for views that end with their session, and for the store itself; `.storeBusy`, `.storeReadOnly`.
    public func add(toCopyAt copy: String) throws {
        let (place, origin) = (try StorePlace(copy), try StorePlace(path))
        guard !isTemporary, place.path != origin.path else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot create views in \(copy)"
                    + (isTemporary
                        ? ": temporary views end with their session; create the StoreViews with isTemporary: false"
                        : ", the store itself: Apple's framework cannot migrate a store with views; create them in a copy"),
                file: copy)
        }
        let purpose = "create views in \(copy)"
        let connection = try Connection.forChanging(
            place, busyTimeout: StoreOptions().busyTimeoutMilliseconds, purpose)
        defer { connection.close() }
        try connection.writing(purpose, cocoaCode: .persistentStoreOperation) {
            for view in views {
                try connection.execute(
                    "DROP VIEW IF EXISTS \(ViewMaker.quoted(view.name));\(view.statement)", purpose,
                    cocoaCode: .persistentStoreOperation)
            }
        }
    }
}
