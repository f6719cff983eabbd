import Corestone
import Glibc

/// `corestone views`: creates SQL views with the names of the model.
struct ViewsCommand: Command {
    static let manual = Manual(
        command: "views", summary: "write SQL views of a store with the names of its model",
        operands: [.init("STORE", "an SQLite store; neither the file nor its folder changes")],
        options: [
            .init("into", "make a copy of the store at FILE, with the views in it", value: "FILE"),
            .init("replace", "overwrite an earlier copy at FILE"),
            .init(
                "dates", "text (ISO 8601 in UTC, the default), unix (seconds since 1970) or reference (since 2001)",
                value: "FORM"),
            .init("list", "print the names of the views instead"),
            Manual.model,
        ],
        details: [
            "Prints statements for the sqlite3 shell that create temporary views: they last for the session, and the "
                + "store is not changed. For tools that cannot run the statements, --into creates a copy of the store with "
                + "permanent views. Views are never written into the store itself, because Apple's framework could not "
                + "migrate it afterwards.",
            "The view of an entity has the primary key (id), the entity of each object in an entity tree (entity), and "
                + "the attributes by name. Dates and UUIDs are text, booleans are 0 and 1, and large values are bytes "
                + "or the name of their backing file (photo, photo_file). A to-one relationship owner has the column "
                + "owner_id, which joins the id of the other view. It also has owner_name or a similar column if the "
                + "destination has such an attribute. The column owner_order is the index in an ordered to-many "
                + "relationship. Many-to-many relationships have their own views, such as Note_tags (note_id, "
                + "tags_id).",
        ],
        examples: [
            "corestone views Photos.sqlite > views.sql",
            "sqlite3 -readonly Photos.sqlite -cmd '.read views.sql' 'SELECT * FROM \"Asset\" LIMIT 10'",
            "corestone views Photos.sqlite --into Readable.sqlite",
        ])

    private let path: String
    private let options: Options
    private let dates: StoreViews.Dates

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        let form = options["dates"] ?? "text"
        guard let dates = StoreViews.Dates.allCases.first(where: { "\($0)" == form }) else {
            throw UsageError("--dates must be text, unix or reference, not \"\(form)\"")
        }
        self.dates = dates
        if options.has("replace"), options["into"] == nil {
            throw UsageError("--replace only applies to a copy; add --into FILE")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        let type = try suggestingShowForModels(path) { try StoreType(ofStoreAt: path) }
        if let type, type != .sqlite {
            throw UsageError(
                "views require an SQLite store, but \(path) is of type \(type.rawValue); convert it with corestone "
                    + "convert")
        }
        let model = try suggestingShowForModels(path) { try options.model(forStoreAt: path) }
        let views = try suggestingShowForModels(path) {
            try StoreViews(ofStoreAt: path, model: model, dates: dates, isTemporary: options["into"] == nil)
        }
        if let copy = options["into"] {
            if !options.has("replace") { try requireFree(copy, "choose another path, or add --replace") }
            var settings = StoreOptions()
            var status = stat()
            // The copy of a read-only store must be writable for the views.
            if stat(path, &status) == 0 { settings.fileMode = status.st_mode & 0o777 | 0o600 }
            try coordinatorWithoutModel().replaceStore(.sqlite, at: copy, byStoreAt: path, options: settings)
            try views.add(toCopyAt: copy)
            if !options.has("list") {
                try output.line("\(copy) is a copy of \(path) with \(plural(views.views.count, "view"))")
            }
        }
        if options.has("list") {
            for view in views.views { try output.line(view.name) }
        } else if options["into"] == nil {
            try output.data(
                """
                -- SQL views of a Core Data store, under the names of its model. They last as long as the session:
                --   sqlite3 -readonly STORE -cmd '.read THIS-FILE'

                """)
            try output.data(views.script)
        }
        return .done
    }
}
