import Corestone

/// `corestone show`: describes a store or a model.
struct ShowCommand: Command {
    static let manual = Manual(
        command: "show", summary: "describe a store or a model",
        operands: [
            .init(
                "STORE|MODEL",
                "a store of Core Data or of this library, or a model: .xcdatamodeld, .xcdatamodel, .momd, .mom")
        ],
        options: [
            .init("entity", "only this entity and its subentities", value: "NAME", repeatable: true),
            .init("version", "a version of the model; by default the current one", value: "NAME"),
            .init("format", "table (the default) or json", value: "FORMAT"),
            Manual.model,
        ],
        details: [
            "Counts include the objects of subentities, and the properties of an entity include inherited ones. A "
                + "store is described by the model that it carries, otherwise by a model that is inferred from its "
                + "tables; the first lines report which. XML and binary stores of Apple's framework do not carry a "
                + "model: pass it with --model.",
            "An incomplete model is shown too: warnings on standard error name the entities and properties that are "
                + "incomplete. All other commands except model show reject such a model with the first of these "
                + "warnings.",
            "json is one object with entities (each with name, parent, abstract, count, attributes, relationships, "
                + "fetched properties, indexes and unique constraints) and facts about the store or the model. The "
                + "count is null for a model. A model also has problems, which lists why it is incomplete.",
        ],
        examples: [
            "corestone show Notes.sqlite",
            "corestone show Notes.sqlite --entity Note",
            "corestone show Notes.xcdatamodeld --version \"Notes 2\"",
            "corestone show Notes.sqlite --format json | jq '.entities[] | {name, count}'",
        ])

    private let path: String
    private let entities: [String]
    private let format: Format
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        path = options.operand(0) ?? ""
        entities = options.all("entity")
        format = try Format.chosen(by: options, among: [.table, .json])
    }

    func run(to output: Output) throws -> ExitCode {
        let subject = try looksLikeModel(path) ? shownModel() : shownStore()
        let chosen = try choose(from: subject.model)
        switch format {
        case .json: try output.json(subject.json(chosen))
        default: try subject.printTables(chosen, isWhole: entities.isEmpty, to: output)
        }
        return .done
    }

    private func choose(from model: Model) throws -> [Entity] {
        let all = model.preorder
        if entities.isEmpty { return all }
        let wanted = Set(
            try entities.flatMap { try model.requireEntity(named: $0).withDescendants.map { ObjectIdentifier($0) } })
        return all.filter { wanted.contains(ObjectIdentifier($0)) }
    }

    private func shownStore() throws -> ShownSubject {
        let coordinator = try openStore(path, options)
        guard options["version"] == nil else {
            throw UsageError("\(path) is a store, which has one version of its model; omit --version")
        }
        let store = try coordinator.openedStore(at: path)
        let metadata = try StoreMetadata(ofStoreAt: path)
        let context = Context(coordinator: coordinator)
        var counts: [String: ShownSubject.Count] = [:]
        for entity in coordinator.model.entities {
            let request = FetchRequest(entity: entity)
            let all = try context.count(request)
            request.includesSubentities = false
            counts[entity.name] = ShownSubject.Count(
                all: all, own: entity.children.isEmpty ? all : try context.count(request))
        }
        return ShownSubject(
            path: path, model: coordinator.model, counts: counts, origin: .store(store, metadata))
    }

    private func shownModel() throws -> ShownSubject {
        let model = try Model(draftAt: path, version: options["version"])
        guard options["model"] == nil else {
            throw UsageError("\(path) is a model, but --model only applies to stores; omit --model")
        }
        model.printDraftProblems(path)
        return ShownSubject(path: path, model: model, counts: nil, origin: .model(try Model.versions(of: path)))
    }
}
