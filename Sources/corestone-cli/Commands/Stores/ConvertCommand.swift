import Corestone
import Glibc

/// `corestone convert`: converts a store to another type.
struct ConvertCommand: Command {
    static let manual = Manual(
        command: "convert", summary: "convert a store to another type",
        operands: [
            .init("STORE", "a store of any type; it is opened read-only"),
            .init("TO", "an unused path for the new store"),
        ],
        options: [
            .init(
                "type", "the type of the new store: SQLite, XML, Binary, or memory for a trial", value: "TYPE"),
            .init(
                "through", "convert to this type first, such as memory", value: "TYPE", repeatable: true),
            .init("check", "read both stores and compare every object, value and relationship"),
            Manual.model,
        ],
        details: [
            "Copies every object with all values, including backing files, relationships with their orders, and the "
                + "application's metadata. The new store has a new identifier, so objects have new IDs. Their primary "
                + "keys are kept where possible: all entities of an XML store share one range of keys. The history "
                + "starts empty. Without --type, the extension of TO sets the type: .xml, .sqlite or .binary. On a "
                + "terminal, a bar shows the progress.",
            "The new store carries its model. XML and binary stores that Apple's framework wrote do not; pass the model "
                + "(--model).",
            "--check compares the objects of both stores, entity by entity in the order of their keys. It compares "
                + "exact attribute values, to-one relationships, and members of to-many relationships with their "
                + "order. Each difference is reported with entity, object and property, and makes the exit code 1.",
        ],
        examples: [
            "corestone convert Notes.sqlite Notes.xml --check",
            "corestone convert Notes.xml Notes.sqlite --model Notes.momd",
            "corestone convert Notes.sqlite Again.sqlite --through memory --through xml --check",
        ])

    private let source: String
    private let path: String
    private let type: StoreType
    private let through: [StoreType]
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        source = options.operand(0) ?? ""
        path = options.operand(1) ?? ""
        type = try options["type"].map { try StoreType.named($0) } ?? ConvertCommand.type(named: path)
        through = try options.all("through").map { try StoreType.named($0) }
    }

    private static func type(named path: String) throws -> StoreType {
        switch OutputFile(path: path).kind {
        case "xml": return .xml
        case "binary", "bin": return .binary
        case "sqlite", "sqlite3", "db": return .sqlite
        default:
            throw UsageError(
                "\(path) does not have the extension of a store (.sqlite, .xml or .binary); add --type SQLite, XML or "
                    + "Binary")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        if type != .inMemory { try requireFree(path, "choose another path") }
        let coordinator = try openStore(source, options)
        let first = try coordinator.openedStore(at: source)
        if first.modelSource == .inferred {
            Tool.note(
                "\(source) is read with a model inferred from its tables; add --model MODEL to use the original model")
        }
        var store = first
        // The folder for intermediate stores.
        let folder = "\(path).\(getpid()).tmp"
        defer { OutputFile(path: folder).removeTree() }
        Interruption.installHandlers()
        for (place, step) in through.enumerated() {
            if place == 0, mkdir(folder, 0o700) != 0 {
                throw OutputFile(path: folder).failure(OutputFile.reason)
            }
            store = try migrate(store, in: coordinator, to: step, at: "\(folder)/\(place)").store
        }
        let converted = try migrate(store, in: coordinator, to: type, at: path)
        // The line does not claim equality, because only --check compares the stores.
        let line =
            "converted \(source) to \(type == .inMemory ? "a store in memory" : path) (\(type.rawValue)): "
            + plural(converted.objects, "object")
        guard options.has("check") else {
            try output.line(line)
            return .done
        }
        // The files are opened again, as any program would open them.
        let old = try openStore(source, options)
        let comparison: GraphComparison
        if type == .inMemory {
            comparison = try GraphComparison(old, coordinator)
        } else {
            let new = try Coordinator.open(path, model: coordinator.model, options: .readOnly)
            comparison = try GraphComparison(old, new)
        }
        try output.line(line)
        let share =
            comparison.isEqual
            ? "all equal" : "\(comparison.equalValues) equal, \(plural(comparison.differenceCount, "difference"))"
        try output.line(
            "compared \(plural(comparison.objects, "object")), \(plural(comparison.values, "value")): \(share)")
        for difference in comparison.differences { try output.line("difference: \(difference)") }
        return comparison.isEqual ? .done : .problems
    }

    private func migrate(
        _ store: Store, in coordinator: Coordinator, to type: StoreType, at path: String
    ) throws -> (store: Store, objects: Int) {
        var objects = 0
        let bar = ProgressBar("converting to \(type.rawValue)", .things("objects"))
        defer { bar.end() }
        let new = try coordinator.migrateStore(store, to: type, at: path) { done, total in
            objects = total
            bar.show(done, of: total)
            return !Interruption.isReceived
        }
        return (new, objects)
    }
}
