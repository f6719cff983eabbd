import Corestone
import Glibc

/// `corestone convert`: a store as one of another type.
struct ConvertCommand: Command {
    static let manual = Manual(
        command: "convert", summary: "write what a store holds as a store of another type",
        operands: [
            .init("STORE", "a store of any type; it is opened read-only"),
            .init("TO", "where the new store is to lie; nothing may be there"),
        ],
        options: [
            .init(
                "type", "the type of the new store: SQLite, XML, Binary or memory, which only tries it", value: "TYPE"),
            .init(
                "through", "go by way of a store of this type first, such as memory", value: "TYPE", repeatable: true),
            .init("check", "read both stores and compare every object, value and relationship"),
            Manual.model,
        ],
        details: [
            "Every object with all values, large ones in files too, relationships with their orders, and what the application wrote into "
                + "the metadata are copied. The new store has an identifier of its own, so objects have new IDs, with the old numbers where it can have "
                + "them (objects of all entities share those of an XML store); a history begins anew. "
                + "Without --type the name of TO tells: .xml, .sqlite, .binary. On a terminal a bar shows how far it is.",
            "Only SQLite stores carry their model: keep STORE, or its model (corestone model decompile), for stores of other types, and give it "
                + "to whoever reads them, this tool too (--model).",
            "--check pairs the objects of both stores, entity by entity in the order of their keys, and compares attributes to the last "
                + "bit, to-one relationships, and members of to-many ones, in order where they have one. A difference is an error, "
                + "names entity, object and property, and the exit code is 1.",
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
                "the name of \(path) does not tell the type of the new store; add --type SQLite, XML or Binary")
        }
    }

    func run(to output: Output) throws -> ExitCode {
        if type != .inMemory { try requireFree(path, "choose another path, or destroy the store there") }
        let coordinator = try openStore(source, options)
        guard let first = coordinator.stores.first else { throw CoreError(.internal, "the store was not kept") }
        if first.modelSource == .inferred {
            Tool.note(
                "\(source) is read by a model inferred from its tables; --model names the one that it was written with")
        }
        var store = first
        // What is needed on the way only.
        let folder = "\(path).\(getpid()).tmp"
        defer { OutputFile(path: folder).removeTree() }
        Interruption.await()
        for (place, step) in through.enumerated() {
            if place == 0, mkdir(folder, 0o700) != 0 {
                throw OutputFile(path: folder).failure(String(cString: strerror(errno)))
            }
            store = try migrate(store, in: coordinator, to: step, at: "\(folder)/\(place)").store
        }
        let made = try migrate(store, in: coordinator, to: type, at: path)
        // No word of sameness, which --check alone finds out.
        let line =
            "\(type == .inMemory ? "a store in memory" : path) was made of \(source) as a store of type \(type.rawValue): "
            + plural(made.objects, "object")
        guard options.has("check") else {
            try output.line(line)
            return .done
        }
        // Both as anybody would open them.
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
            return !Interruption.hasCome
        }
        return (new, objects)
    }
}
