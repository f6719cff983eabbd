import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// SQL views that show an SQLite store under the names of its model in any SQLite tool.
///
/// There is one view for each entity, and one for each relationship that is not visible in the views of entities.
///
/// The store itself is not changed: views are created in a session (`TEMP`) or in a copy. Apple's framework migrates a
/// store by altering its tables, which SQLite rejects if views refer to them.
public struct StoreViews: Sendable {
    /// The format of dates.
    public enum Dates: UInt32, Sendable, CaseIterable {
        /// ISO 8601 in UTC with milliseconds, which sorts as text and which SQLite's date functions accept.
        case text
        /// Seconds since 1970.
        case unix
        /// Seconds since 2001, as they are stored.
        case reference
    }

    public struct View: Sendable {
        public let name: String
        /// The entity whose objects the view shows; nil for the view of a relationship.
        public let entity: String?
        public let statement: String
    }

    public let views: [View]
    private let path: String
    private let isTemporary: Bool

    /// Creates the statements of the views for a store.
    ///
    /// - Parameters:
    ///   - path: The path of an SQLite store. Neither the file nor its folder is changed.
    ///   - model: The model of the store; nil to use its cached model, or a model inferred from its tables.
    ///   - isTemporary: Whether the views are removed at the end of the session that creates them.
    /// - Throws: As `Coordinator.open`.
    public init(ofStoreAt path: String, model: Model? = nil, dates: Dates = .text, isTemporary: Bool = true) throws {
        let place = try StoreLocation(path)
        try place.requireStore()
        let file = try ReadOnlyFile(place)
        defer { file.connection.close() }
        let schema = try StoreExamination(file.connection, model: model, place: place).schema
        var maker = ViewMaker(schema: schema, dates: dates, isTemporary: isTemporary)
        self.path = path
        self.isTemporary = isTemporary
        views = maker.makeAll()
    }

    /// All statements as a script for the SQLite shell.
    public var script: String {
        "BEGIN;\n" + views.map { $0.statement + ";\n" }.joined() + "COMMIT;\n"
    }

    /// Creates the views in a copy of the store, and replaces existing views of the same names.
    ///
    /// - Throws: `.invalidArgument` for temporary views, and for the path of the store itself.
    ///   `.storeBusy` if another process holds the lock.
    ///   `.storeReadOnly` if the copy is not writable.
    public func add(toCopyAt copy: String) throws {
        let (place, origin) = (try StoreLocation(copy), try StoreLocation(path))
        guard !isTemporary, place.path != origin.path else {
            throw CoreError(
                .invalidArgument, code: .persistentStoreOperation,
                "cannot create views in \(copy)"
                    + (isTemporary
                        ? ": temporary views end with their session; create the StoreViews with isTemporary: false"
                        : ", the store itself: Apple's framework cannot migrate a store with views; create them in a copy"),
                key: "copy", file: copy)
        }
        let purpose = "create views in \(copy)"
        let connection = try Connection.forChanging(place, busyTimeout: nil, purpose)
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
