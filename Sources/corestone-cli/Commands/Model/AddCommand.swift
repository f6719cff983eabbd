import Corestone
import Glibc

/// `corestone model add`: adds an element to a source model, with the defaults of Xcode.
struct AddCommand: Command {
    static let manual = Manual(
        command: "model add", summary: "add an entity, a property or another part to a source model",
        operands: [
            EditedModel.operand,
            .init("KIND", kinds.map(\.name).joined(separator: ", ")),
            .init("NAME", "the name of the part: ENTITY.NAME for a property or an index, the entity for a constraint"),
            .init(
                "REST", optional: true, repeatable: true,
                "the arguments of the kind, then KEY=VALUE as for model set"),
        ],
        options: [
            .init("to-many", "make the relationship to-many"),
            .init("ordered", "make the to-many relationship ordered"),
            .init("delete", "the delete rule of the relationship: nullify, cascade, deny or no-action", value: "RULE"),
            .init("inverse", "the inverse of the relationship, which is created if it does not exist", value: "NAME"),
            .init("inverse-to-many", "make the created inverse to-many"),
            .init("inverse-ordered", "make the created inverse ordered"),
            .init("inverse-delete", "the delete rule of the created inverse", value: "RULE"),
            .init("where", "a condition for the objects in the index", value: "PREDICATE"),
            .init("rtree", "make the index an R-tree, for ranges of numbers"),
            NamedModel.version,
        ],
        details: kinds.map { "\($0.usage): \($0.meaning)" },
        examples: [
            "corestone model add Notes.xcdatamodeld entity Note codeGenerationType=category",
            "corestone model add Notes.xcdatamodeld attribute Note.title String optional=NO",
            "corestone model add Company.xcdatamodeld relationship Employee.department Department "
                + "--inverse employees --inverse-to-many --delete nullify",
            "corestone model add Notes.xcdatamodeld index Note.byDate modified:descending title",
            "corestone model add Notes.xcdatamodeld version \"Notes 2\"",
        ])

    private struct Kind {
        let name: String
        let usage: String
        let meaning: String
        let add: @Sendable (AddCommand, EditedModel) throws -> Void
    }

    private static let kinds = [
        Kind(
            name: "entity", usage: "entity NAME",
            meaning: "its class has the same name, and Xcode generates the class (codeGenerationType=class)"
        ) { try $0.addEntity(to: $1) },
        Kind(
            name: "attribute", usage: "attribute ENTITY.NAME TYPE",
            meaning: "optional; numbers are scalars with the default 0, as in Xcode. For the type Composite, add its "
                + "elements as NAME:TYPE"
        ) { try $0.addAttribute(to: $1) },
        Kind(
            name: "relationship", usage: "relationship ENTITY.NAME DESTINATION",
            meaning: "optional and to-one, with the delete rule nullify"
        ) { try $0.addRelationship(to: $1) },
        Kind(
            name: "fetched", usage: "fetched ENTITY.NAME DESTINATION [PREDICATE]", meaning: "a fetched property"
        ) { try $0.addFetchedProperty(to: $1) },
        Kind(
            name: "index", usage: "index ENTITY.NAME KEY…",
            meaning: "a fetch index; KEY:descending sorts in descending order"
        ) { try $0.addIndex(to: $1) },
        Kind(
            name: "constraint", usage: "constraint ENTITY ATTRIBUTE…",
            meaning: "the combined values of the attributes are unique"
        ) { try $0.addConstraint(to: $1) },
        Kind(
            name: "template", usage: "template NAME ENTITY [PREDICATE]", meaning: "a fetch request"
        ) { try $0.addTemplate(to: $1) },
        Kind(
            name: "configuration", usage: "configuration NAME ENTITY…", meaning: "a subset of the entities"
        ) { try $0.addConfiguration(to: $1) },
        Kind(
            name: "version", usage: "version NAME", meaning: "a copy of the current version, which becomes current"
        ) { try $0.addVersion(to: $1) },
    ]

    private let options: Options
    private let kind: Kind
    private let name: String
    private let words: [String]
    private let assignments: [Assignment]

    init(_ options: Options) throws {
        self.options = options
        let (given, names) = (options.operand(1) ?? "", AddCommand.kinds.map(\.name))
        guard let kind = AddCommand.kinds.first(where: { $0.name == given }) else {
            let hint = nearestName(to: given, among: names).map { "; did you mean \"\($0)\"?" }
            throw UsageError(
                "\"\(given)\" is not a kind of model element\(hint ?? "; use one of \(names.joined(separator: ", "))")")
        }
        self.kind = kind
        name = options.operand(2) ?? ""
        let rest = options.operands.dropFirst(3)
        // Predicates can contain equals signs too.
        words = rest.filter { !Assignment.looksLikeOne($0) }
        assignments = try rest.filter(Assignment.looksLikeOne).map { try Assignment($0) }
    }

    func run(to output: Output) throws -> ExitCode {
        let edited = try EditedModel(options)
        try kind.add(self, edited)
        return .done
    }

    /// Returns the arguments after the name. Throws if their number is not between `least` and `most`.
    private func rest(_ least: Int, _ most: Int) throws -> [String] {
        guard words.count >= least else {
            throw UsageError(
                "model add \(kind.name) has too few arguments; write \(Tool.name) model add MODEL \(kind.usage)")
        }
        guard words.count <= most else {
            throw UsageError(
                "unexpected argument \"\(words[most])\"; write \(Tool.name) model add MODEL \(kind.usage), and put "
                    + "quotes around an argument that contains spaces")
        }
        return words
    }

    /// The option of the edited version, for a command in a message; empty for the current version.
    private var versionOption: String { options["version"].map { " --version \"\($0)\"" } ?? "" }

    // MARK: Entities and properties

    private func addEntity(to edited: EditedModel) throws {
        _ = try rest(0, 0)
        let entity = try edited.model.addEntity(named: name)
        try entity.setClassName(name)
        try entity.setExtra("codeGenerationType", "class")
        try entity.edit(assignments)
        try edited.write()
    }

    private func addAttribute(to edited: EditedModel) throws {
        let (owner, name) = try edited.newProperty(name)
        let words = try rest(1, .max)
        let type = try AttributeType(editing: Assignment("TYPE=\(words[0])"))
        if type != .composite { _ = try rest(1, 1) }
        let attribute = try owner.addAttribute(named: name, type: type)
        for word in words.dropFirst() {
            let parts = word.split(separator: ":", maxSplits: 1).map { String($0) }
            guard parts.count == 2 else {
                throw UsageError("\"\(word)\" cannot be an element of \(owner.name).\(name); write NAME:TYPE")
            }
            try attribute.addElement(
                named: parts[0], type: try AttributeType(editing: Assignment("TYPE=\(parts[1])")))
        }
        switch type {
        case .integer16, .integer32, .integer64: try attribute.setDefaultValue(.int(0))
        case .double, .float: try attribute.setDefaultValue(.double(0))
        case .decimal: try attribute.setDefaultValue(.decimal(DecimalNumber(0)))
        default: break
        }
        if type.isScalar { try attribute.setExtra("usesScalarValueType", "YES") }
        if type == .date || type == .uuid { try attribute.setExtra("usesScalarValueType", "NO") }
        try attribute.edit(assignments)
        try edited.write()
    }

    private func addRelationship(to edited: EditedModel) throws {
        let (owner, name) = try edited.newProperty(name)
        let destination = try edited.entity(try rest(1, 1)[0])
        let relationship = try owner.addRelationship(
            named: name, destination: destination, isToMany: options.has("to-many") || options.has("ordered"),
            isOrdered: options.has("ordered"))
        try relationship.setDeleteRule(try rule("delete"))
        if let inverse = options["inverse"] {
            try relationship.setInverse(try self.inverse(named: inverse, of: relationship))
        }
        try relationship.edit(assignments)
        try edited.write()
    }

    /// Returns the inverse relationship with this name, and creates it if it does not exist.
    private func inverse(named name: String, of relationship: Relationship) throws -> Relationship {
        let destination = relationship.destination
        if let known = destination.ownProperty(named: name) {
            guard let known = known as? Relationship else {
                throw UsageError(
                    "\(destination.name).\(name) is not a relationship and cannot be an inverse; pass a relationship or an "
                        + "unused name with --inverse")
            }
            return known
        }
        let inverse = try destination.addRelationship(
            named: name, destination: relationship.entity,
            isToMany: options.has("inverse-to-many") || options.has("inverse-ordered"),
            isOrdered: options.has("inverse-ordered"))
        try inverse.setDeleteRule(try rule("inverse-delete"))
        return inverse
    }

    private func rule(_ option: String) throws -> DeleteRule {
        guard let text = options[option] else { return .nullify }
        // The names of the option: "No Action" is no-action.
        return try Assignment("--\(option)=\(text.replacing(" ", with: "-"))")
            .one(of: DeleteRule.allCases.map { ($0.sourceText.lowercased().replacing(" ", with: "-"), $0) })
    }

    // MARK: Fetches

    private func addFetchedProperty(to edited: EditedModel) throws {
        let (owner, name) = try edited.newProperty(name)
        let property = try owner.addFetchedProperty(named: name, fetchRequest: try request(edited))
        try property.edit(assignments)
        try edited.write()
    }

    private func addTemplate(to edited: EditedModel) throws {
        guard edited.model.fetchRequestTemplates[name] == nil else {
            throw UsageError(
                "\(edited.path) already has a fetch request template \"\(name)\"; change it with \(Tool.name) model "
                    + "set \(edited.path) template:\(name) KEY=VALUE\(versionOption)")
        }
        var request = try request(edited)
        try request.edit(assignments)
        try edited.model.setFetchRequestTemplate(request, forName: name)
        try edited.write()
    }

    private func request(_ edited: EditedModel) throws -> FetchRequestTemplate {
        let words = try rest(1, 2)
        let predicate = words.count > 1 ? PredicateText(words[1]) : nil
        _ = try predicate?.required()
        return FetchRequestTemplate(entityName: try edited.entity(words[0]).name, predicate: predicate)
    }

    // MARK: Indexes, constraints, configurations, versions

    private func addIndex(to edited: EditedModel) throws {
        let (owner, name) = try edited.newProperty(name)
        guard !owner.indexes.contains(where: { $0.name == name }) else {
            throw UsageError("\(owner.name) already has an index \"\(name)\"; choose another name")
        }
        let elements = try rest(1, .max).map { word in
            let suffix = ":descending"
            let isDescending = word.hasSuffix(suffix)
            return FetchIndex.Element(
                property: isDescending ? String(word.dropLast(suffix.count)) : word,
                collation: options.has("rtree") ? .rTree : .binary, isAscending: !isDescending)
        }
        let predicate = options["where"].map { PredicateText($0) }
        _ = try predicate?.required()
        try owner.addIndex(FetchIndex(name: name, elements: elements, partialPredicate: predicate))
        try edited.write()
    }

    private func addConstraint(to edited: EditedModel) throws {
        try edited.entity(name).addUniqueConstraint(try rest(1, .max))
        try edited.write()
    }

    private func addConfiguration(to edited: EditedModel) throws {
        let names = try rest(0, .max).map { try edited.entity($0).name }
        guard edited.model.configuration(named: name) == nil else {
            throw UsageError(
                "\(edited.path) already has a configuration \"\(name)\"; change it with \(Tool.name) model set \(edited.path) "
                    + "configuration:\(name) KEY=VALUE\(versionOption)")
        }
        try edited.model.setConfiguration(ModelConfiguration(name: name, entityNames: names))
        try edited.write()
    }

    private func addVersion(to edited: EditedModel) throws {
        _ = try rest(0, 0)
        let extensionOfModel = OutputFile(path: edited.path).kind
        guard extensionOfModel == "xcdatamodeld" else {
            guard extensionOfModel == "xcdatamodel" else {
                throw UsageError(
                    "\(edited.path) is not an .xcdatamodeld folder; pass one, or create one from a compiled model or a "
                        + "store with \(Tool.name) model decompile")
            }
            if let bundle = AddCommand.bundle(ofVersion: edited.path) {
                throw UsageError("\(edited.path) is a version of \(bundle); pass \(bundle)")
            }
            throw UsageError(
                "\(edited.path) is a single model without versions; create an .xcdatamodeld with corestone model merge "
                    + "\(edited.path) -o NEW.xcdatamodeld")
        }
        let names = try Model.versions(of: edited.path).map(\.name)
        guard !names.contains(name) else {
            throw UsageError("\(edited.path) already has a version \"\(name)\"; choose another name")
        }
        try edited.write(version: name)
    }

    /// Returns the path of the .xcdatamodeld that contains a version; nil for a single model.
    private static func bundle(ofVersion path: String) -> String? {
        // The path can be relative to the .xcdatamodeld itself.
        guard let absolute = realpath(path, nil) else { return nil }
        defer { free(absolute) }
        let version = String(cString: absolute)
        guard let slash = version.lastIndex(of: "/") else { return nil }
        let folder = String(version[..<slash])
        return OutputFile(path: folder).kind == "xcdatamodeld" ? folder : nil
    }
}

extension Assignment {
    /// Whether a word has the form `key=value`, unlike a predicate such as `a == 3`.
    static func looksLikeOne(_ word: String) -> Bool {
        guard let place = word.firstIndex(of: "="), place > word.startIndex else { return false }
        let isName = word[..<place].allSatisfy { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }
        return isName && word[word.index(after: place)...].first != "="
    }
}
