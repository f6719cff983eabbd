import Corestone

/// `corestone model rename`: renames an entity or a property of a source model.
struct RenameCommand: Command {
    static let manual = Manual(
        command: "model rename", summary: "rename an entity or a property",
        operands: [
            EditedModel.operand, .init("PART", "ENTITY or ENTITY.PROPERTY"), .init("NAME", "the new name"),
        ],
        options: [
            .init("new-identity", "do not record the former name: a migration removes the old part and adds a new one"),
            NamedModel.version,
        ],
        details: [
            "The former name is recorded as the renaming identifier (elementID), so that a migration keeps the data. An "
                + "existing identifier is kept.",
            "References are renamed too: inverses, indexes, constraints, configurations, fetch requests, and key paths "
                + "in predicates and derivations. A class that has the name of its entity is renamed with it.",
        ],
        examples: [
            "corestone model rename Notes.xcdatamodeld Note.title headline",
            "corestone model rename Notes.xcdatamodeld Note Entry --new-identity",
        ])

    private let options: Options
    private let part: EditedModel.Name
    private let newName: String

    init(_ options: Options) throws {
        self.options = options
        part = try EditedModel.Name(options.operand(1) ?? "")
        newName = options.operand(2) ?? ""
    }

    func run(to output: Output) throws -> ExitCode {
        let edited = try EditedModel(options)
        let entity = try edited.entity(part.entity)
        if let name = part.property {
            let property = try entity.requireOwnProperty(named: name)
            try property.rename(to: newName)
            if !options.has("new-identity"), property.renamingIdentifier == nil {
                try property.setRenamingIdentifier(name)
            }
        } else {
            try entity.rename(to: newName)
            if entity.className == part.entity { try entity.setClassName(newName) }
            if !options.has("new-identity"), entity.renamingIdentifier == nil {
                try entity.setRenamingIdentifier(part.entity)
            }
        }
        try edited.write()
        return .done
    }
}
