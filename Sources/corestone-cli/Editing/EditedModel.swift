import Corestone
import CorestoneFileSystem
import Glibc

/// A source model that a command changes in place.
struct EditedModel {
    let path: String
    let model: Model
    /// The names of the attributes of the model before the change.
    private let storedAttributes: Set<String>

    static let operand = Manual.Operand("MODEL", "a source model: .xcdatamodeld or .xcdatamodel")

    init(_ options: Options) throws {
        path = options.operand(0) ?? ""
        guard OutputFile.isFolder(path) else { throw EditedModel.notSource(path) }
        model = try Model(contentsOf: path, version: options["version"])
        storedAttributes = Set(model.entities.flatMap(\.ownAttributes).map(EditedModel.name(of:)))
    }

    private static func name(of attribute: Attribute) -> String { "\(attribute.entity.name).\(attribute.path)" }

    /// Creates the error for a path that is not a source model.
    private static func notSource(_ path: String) -> UsageError {
        if access(path, F_OK) == 0 {
            return UsageError(
                "\(path) is not a source model; pass an .xcdatamodeld or .xcdatamodel folder, or create one from a "
                    + "compiled model or a store with \(Tool.name) model decompile")
        }
        let reason = errno
        guard reason == ENOENT else {
            let error = SystemError(reason)
            let remedy = error.isMissing ? "; check the path" : error.remedyForFinding()
            return UsageError("cannot open \(path): \(error.text)\(remedy)")
        }
        return UsageError(
            "\(path) does not exist; create a source model with \(Tool.name) model new, or convert a compiled model "
                + "with \(Tool.name) model decompile")
    }

    /// Writes the model to its path, after checking it.
    func write(version: String? = nil) throws {
        let copy = try model.copy()
        try copy.freeze()
        try checkDerivations(of: copy)
        try model.write(to: path, version: version ?? model.versionName, makesCurrent: version != nil)
    }

    /// Throws if a derivation is invalid, for example if it refers to a missing property.
    ///
    /// A store could not be created with the model.
    private func checkDerivations(of model: Model) throws {
        for attribute in model.entities.flatMap(\.ownAttributes) {
            guard let obstacle = attribute.derivationObstacle else { continue }
            let name = EditedModel.name(of: attribute)
            let alternative = storedAttributes.contains(name) ? ", or remove \(name)" : ""
            throw CoreError(
                .model, code: .coreData,
                "cannot write \(path): \(name) would be derived by \"\(attribute.derivation?.sourceText ?? "")\", "
                    + obstacle + (obstacle.hasRemedy ? "" : "; correct the derivation\(alternative)"),
                entity: attribute.entity.name, key: attribute.name,
                file: path)
        }
    }

    /// Makes another version the current one.
    func makeCurrent(_ version: String) throws {
        try Model(contentsOf: path, version: version).write(to: path, version: version, makesCurrent: true)
    }

    /// Removes a version from its bundle.
    static func removeVersion(_ name: String, of path: String) throws {
        let versions = try Model.versions(of: path)
        guard let version = versions.first(where: { $0.name == name }) else {
            let hint = nearestName(to: name, among: versions.map(\.name)).map { "; did you mean \"\($0)\"?" } ?? ""
            throw UsageError("\(path) does not have a version \"\(name)\"\(hint)")
        }
        guard versions.count > 1 else {
            throw UsageError(
                "\"\(name)\" is the only version of \(path) and cannot be removed; delete \(path) instead")
        }
        guard !version.isCurrent else {
            throw UsageError(
                "\"\(name)\" is the current version of \(path) and cannot be removed; make another one current first: "
                    + "\(Tool.name) model set \(path) . currentVersion=NAME"
            )
        }
        try OutputFile(path: version.path).removeFolder()
    }

    // MARK: Names of elements

    /// A name in the form `Note` or `Note.title`.
    struct Name {
        let entity: String
        let property: String?

        init(_ text: String) throws {
            guard let name = Name(parsing: text) else {
                throw UsageError(
                    "\"\(text)\" is not the name of an entity or property; write ENTITY or ENTITY.PROPERTY")
            }
            self = name
        }

        /// Parses a name; nil for text with an empty name.
        fileprivate init?(parsing text: String) {
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            guard parts.allSatisfy({ !$0.isEmpty }), let first = parts.first else { return nil }
            entity = first
            property = parts.count > 1 ? parts[1] : nil
        }
    }

    /// The element that an argument refers to.
    enum Part {
        case model
        case named(Name)
        case template(String)
        case configuration(String)
        case index(Name)
        case constraint(Name)
        case version(String)

        /// Parses an argument. The second operand in `manual` describes the accepted forms, for errors.
        init(_ text: String, of manual: Manual) throws {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 2 else {
                self = text == "." ? .model : .named(try Name(text))
                return
            }
            let kinds = ["template", "configuration", "index", "constraint", "version"]
            switch parts[0] {
            case "template": self = .template(parts[1])
            case "configuration": self = .configuration(parts[1])
            case "index":
                guard let name = Name(parsing: parts[1]) else {
                    throw UsageError("\"\(text)\" does not name an index; write index:ENTITY.NAME")
                }
                self = .index(name)
            case "constraint":
                guard let name = Name(parsing: parts[1]) else {
                    throw UsageError(
                        "\"\(text)\" does not name a unique constraint; write constraint:ENTITY.ATTRIBUTE,…")
                }
                self = .constraint(name)
            case "version": self = .version(parts[1])
            default:
                let hint = nearestName(to: parts[0], among: kinds).map { "; did you mean \"\($0):\"?" }
                throw UsageError(
                    "\"\(parts[0]):\" is not a prefix of a model element"
                        + (hint ?? "; write \(manual.operands[1].meaning)"))
            }
        }
    }

    func template(_ name: String) throws -> FetchRequestTemplate {
        if let template = model.fetchRequestTemplates[name] { return template }
        throw nothing("a fetch request template", name, among: Array(model.fetchRequestTemplates.keys))
    }

    func configuration(_ name: String) throws -> ModelConfiguration {
        if let configuration = model.configuration(named: name) { return configuration }
        throw nothing("a configuration", name, among: model.configurations.map(\.name))
    }

    /// Creates the error for a missing index or unique constraint. `names` returns the names in one entity.
    func nothing(_ kind: String, _ name: String, of entity: Entity, _ names: (Entity) -> [String]) -> UsageError {
        // Without a prefix, the name would be that of a property.
        let prefix = kind == "an index" ? "index" : "constraint"
        var ancestor = entity.parent
        while let current = ancestor {
            if names(current).contains(name) {
                return UsageError(
                    "\(entity.name) does not have \(kind) \"\(name)\" of its own; use "
                        + "\(prefix):\(current.name).\(name)")
            }
            ancestor = current.parent
        }
        return nothing(kind, name, among: names(entity), owner: entity.name)
    }

    private func nothing(
        _ kind: String, _ name: String, among names: [String], owner: String? = nil
    ) -> UsageError {
        let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
        return UsageError("\(owner ?? "the model \(path)") does not have \(kind) \"\(name)\"\(hint)")
    }

    func entity(_ name: String) throws -> Entity { try model.requireEntity(named: name) }

    /// Parses `ENTITY.PROPERTY` for a new property. The entity must exist.
    func newProperty(_ text: String) throws -> (owner: Entity, name: String) {
        guard let name = Name(parsing: text), let property = name.property else {
            throw UsageError("\"\(text)\" must have the form ENTITY.NAME, such as Note.title")
        }
        return (try entity(name.entity), property)
    }
}

/// A `key=value` argument.
struct Assignment {
    let key: String
    let value: String

    init(_ word: String) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 2, !parts[0].isEmpty else {
            throw UsageError("\"\(word)\" is not an assignment; write KEY=VALUE, or KEY= to remove the value")
        }
        (key, value) = (parts[0], parts[1])
    }

    /// The value; nil if it is empty, which removes the setting.
    var text: String? { value.isEmpty ? nil : value }

    func flag() throws -> Bool {
        switch value.uppercased() {
        case "YES", "TRUE", "1": return true
        case "NO", "FALSE", "0", "": return false
        default: throw UsageError("\(key) must be YES or NO, not \"\(value)\"")
        }
    }

    func count() throws -> UInt32 {
        if value.isEmpty { return 0 }
        guard let number = UInt32(value) else {
            throw UsageError("\(key) must be an integer from 0 to \(UInt32.max), not \"\(value)\"")
        }
        return number
    }

    /// Returns the choice that the value names.
    ///
    /// - Parameter description: Describes the value in errors; nil to list the choices.
    func one<Choice>(of choices: [(name: String, choice: Choice)], description: String? = nil) throws -> Choice {
        if let found = choices.first(where: { $0.name.lowercased() == value.lowercased() }) { return found.choice }
        let names = choices.map(\.name).filter { !$0.isEmpty }
        let hint = nearestName(to: value, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
        let choice = description ?? "one of \(names.joined(separator: ", "))"
        throw UsageError("\(key) must be \(choice), not \"\(value)\"\(hint)")
    }
}

/// A key of a model element that can be set, with its name in Xcode's source files.
struct EditableKey<Subject>: Sendable {
    let name: String
    let set: @Sendable (Subject, Assignment) throws -> Void

    init(_ name: String, _ set: @escaping @Sendable (Subject, Assignment) throws -> Void) {
        self.name = name
        self.set = set
    }

    /// Sets keys of a model element.
    ///
    /// - Parameters:
    ///   - other: A key that the caller sets, for errors.
    ///   - kind: The kind of the element, for errors.
    static func apply(
        _ assignments: [Assignment], to subject: Subject, _ keys: [EditableKey], and other: String, of kind: String
    ) throws {
        for assignment in assignments {
            guard let key = keys.first(where: { $0.name == assignment.key }) else {
                let names = keys.map(\.name) + [other]
                let hint = nearestName(to: assignment.key, among: names).map { "did you mean \"\($0)\"?" }
                let remedy =
                    names.count > 10
                    ? "see \(Tool.name) model set --help for the keys" : "use one of \(names.abridged)"
                throw UsageError("\"\(assignment.key)\" is not a key of \(kind); \(hint ?? remedy)")
            }
            try key.set(subject, assignment)
        }
    }
}
