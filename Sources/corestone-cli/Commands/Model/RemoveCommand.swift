import Corestone

/// `corestone model remove`: takes a part out of a source model.
struct RemoveCommand: Command {
    static let manual = Manual(
        command: "model remove", summary: "take an entity, a property or another part out of a source model",
        operands: [
            EditedModel.operand,
            .init(
                "PART", repeatable: true,
                "ENTITY, ENTITY.PROPERTY, template:NAME, configuration:NAME, index:ENTITY.NAME, "
                    + "constraint:ENTITY.ATTRIBUTE,… or version:NAME"),
        ],
        options: [NamedModel.version],
        details: [
            "What cannot be without a part goes with it: relationships that lead to an entity, indexes and constraints that "
                + "name a property. Predicates that name a property stay; model lint finds them. What a derivation names is removed "
                + "only together with the derived attribute."
        ],
        examples: [
            "corestone model remove Notes.xcdatamodeld Note.subtitle",
            "corestone model remove Notes.xcdatamodeld Draft index:Note.byTitle",
        ])

    private let options: Options
    private let parts: [EditedModel.Part]

    init(_ options: Options) throws {
        self.options = options
        parts = try options.operands.dropFirst().map { try EditedModel.Part($0) }
    }

    func run(to output: Output) throws -> ExitCode {
        let versions = parts.compactMap { if case .version(let name) = $0 { name } else { nil } }
        guard versions.isEmpty || versions.count == parts.count else {
            throw UsageError("versions are removed by themselves")
        }
        for version in versions { try EditedModel.removeVersion(version, of: options.operand(0) ?? "") }
        if !versions.isEmpty { return .done }
        let edited = try EditedModel(options)
        for part in parts { try remove(part, from: edited) }
        try edited.write()
        return .done
    }

    private func remove(_ part: EditedModel.Part, from edited: EditedModel) throws {
        let model = edited.model
        switch part {
        case .model, .version: throw UsageError("the whole model is removed by removing its file")
        case .named(let name):
            let entity = try edited.entity(name.entity)
            if let property = name.property {
                try entity.remove(try entity.requireOwnProperty(named: property))
            } else {
                try model.remove(entity)
            }
        case .template(let name):
            _ = try edited.template(name)
            try model.setFetchRequestTemplate(nil, forName: name)
        case .configuration(let name):
            try model.removeConfiguration(named: try edited.configuration(name).name)
        case .index(let name):
            let entity = try edited.entity(name.entity)
            guard let index = name.property, try entity.removeIndex(named: index) else {
                throw edited.nothing("index", name.property ?? "", of: entity, entity.indexes.map(\.name))
            }
        case .constraint(let name):
            let entity = try edited.entity(name.entity)
            let attributes = (name.property ?? "").split(separator: ",").map { String($0) }
            guard try entity.removeUniqueConstraint(attributes) else {
                let all = entity.uniqueConstraints.map { $0.joined(separator: ",") }
                throw edited.nothing("unique constraint", attributes.joined(separator: ","), of: entity, all)
            }
        }
    }
}
