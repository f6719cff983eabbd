import Corestone

/// `corestone model remove`: removes an element from a source model.
struct RemoveCommand: Command {
    static let manual = Manual(
        command: "model remove", summary: "remove an entity, a property or another part of a source model",
        operands: [
            EditedModel.operand,
            .init(
                "PART", repeatable: true,
                "ENTITY, ENTITY.PROPERTY, template:NAME, configuration:NAME, index:ENTITY.NAME, "
                    + "constraint:ENTITY.ATTRIBUTE,… or version:NAME"),
        ],
        options: [NamedModel.version],
        details: [
            "Also removes dependent parts: relationships to an entity, fetched properties and templates that fetch it, "
                + "and indexes and constraints with a property. Predicates that use a property stay; model lint "
                + "reports them. A property that a derivation uses can only be removed together with the derived "
                + "attribute."
        ],
        examples: [
            "corestone model remove Notes.xcdatamodeld Note.subtitle",
            "corestone model remove Notes.xcdatamodeld Draft index:Note.byTitle",
        ])

    private let options: Options
    private let parts: [EditedModel.Part]

    init(_ options: Options) throws {
        self.options = options
        parts = try options.operands.dropFirst().map { try EditedModel.Part($0, of: RemoveCommand.manual) }
    }

    func run(to output: Output) throws -> ExitCode {
        let versions = parts.compactMap { if case .version(let name) = $0 { name } else { nil } }
        guard versions.isEmpty || versions.count == parts.count else {
            throw UsageError(
                "\"version:\(versions[0])\" cannot be removed together with other model elements; use a separate "
                    + "command")
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
        case .model, .version:
            throw UsageError(
                "model remove cannot remove the whole model; delete \(options.operand(0) ?? "its file") instead")
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
            guard let index = name.property else {
                throw UsageError("\"index:\(name.entity)\" does not name an index; write index:\(name.entity).NAME")
            }
            guard try entity.removeIndex(named: index) else {
                throw edited.nothing("an index", index, of: entity) { $0.indexes.map(\.name) }
            }
        case .constraint(let name):
            let entity = try edited.entity(name.entity)
            guard let list = name.property else {
                throw UsageError(
                    "\"constraint:\(name.entity)\" does not name a unique constraint; write "
                        + "constraint:\(name.entity).ATTRIBUTE,…")
            }
            let attributes = list.split(separator: ",").map { String($0) }
            guard try entity.removeUniqueConstraint(attributes) else {
                throw edited.nothing("a unique constraint", attributes.joined(separator: ","), of: entity) {
                    $0.uniqueConstraints.map { $0.joined(separator: ",") }
                }
            }
        }
    }
}
