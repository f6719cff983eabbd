import Corestone

/// A generator of a Python package with a module for each class.
///
/// Each class has a module and a stub with its types. A class that is not generated completely also has a module for
/// manual additions.
struct PythonGenerator: CodeGenerator {
    let model: GeneratedModel
    private let modules: [String: String]
    /// The classes by name.
    let classesByName: [String: [GeneratedClass]]

    init(_ model: GeneratedModel) {
        self.model = model
        var (modules, taken) = ([String: String](), Set<String>())
        for generated in model.classes {
            var name = generated.name.lowercased()
            while PythonGenerator.reserved.contains(name) || !taken.insert(name).inserted { name += "_" }
            modules[generated.entity.name] = name
        }
        self.modules = modules
        classesByName = Dictionary(grouping: model.classes, by: \.name)
    }

    func generate(_ write: (GeneratedFile) throws -> Void) throws {
        try write(GeneratedFile("__init__.py", package))
        try write(GeneratedFile("py.typed", []))
        for generated in model.classes {
            try write(GeneratedFile("_\(module(generated)).py", machineModule(generated)))
            try write(GeneratedFile("_\(module(generated)).pyi", stub(generated)))
        }
        for generated in model.classes where generated.isSplit {
            try write(GeneratedFile("\(module(generated)).py", humanModule(generated), isForPeople: true))
        }
    }

    func literal(_ text: String) -> String { Spelling.literal(text, .python) }

    static let reserved: Set<String> = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ]
    /// Returns a name as a Python identifier: a keyword gets a trailing underscore.
    func name(_ name: String) -> String { PythonGenerator.reserved.contains(name) ? name + "_" : name }

    /// Returns the name of a class's module for manual additions.
    ///
    /// The name of the generated module is the same with a leading underscore.
    func module(_ generated: GeneratedClass) -> String { modules[generated.entity.name] ?? "" }
    func moduleOfClass(_ generated: GeneratedClass) -> String { (generated.isSplit ? "" : "_") + module(generated) }
    func machineName(_ generated: GeneratedClass) -> String { (generated.isSplit ? "_" : "") + generated.name }
    func baseName(_ generated: GeneratedClass) -> String { model.parent(of: generated)?.name ?? "ManagedObject" }

    // MARK: The package

    private var package: [String] {
        let names = model.classes.map(\.name).sorted()
        let imports = model.classes.map { "from .\(moduleOfClass($0)) import \($0.name)" }.sorted()
        return [
            "\"\"\"Typed classes for the objects of the model \(model.name).", "", GeneratedFile.warning, "\"\"\"", "",
            "from __future__ import annotations", "", "from corestone import Model", "",
        ] + imports + [
            "", "__all__ = [\(list(names + ["bind"]))]", "", "", "def bind(model: Model) -> Model:",
            "    \"\"\"Binds these classes to a model, before its objects are used. Returns the model.\"\"\"",
            "    return model.bind(\(model.classes.map(\.name).joined(separator: ", ")))",
        ]
    }

    private func list(_ names: [String]) -> String { names.map(literal).joined(separator: ", ") }

    // MARK: Modules for manual additions

    private func humanModule(_ generated: GeneratedClass) -> [String] {
        [
            "\"\"\"The objects of the entity \(generated.entity.name): manual additions.\"\"\"", "",
            "from __future__ import annotations", "",
            "from ._\(module(generated)) import \(machineName(generated))", "", "",
            "class \(generated.name)(\(machineName(generated))):", "    __slots__ = ()",
        ]
    }

    // MARK: Generated modules

    private func machineModule(_ generated: GeneratedClass) -> [String] {
        var lines = [
            "\"\"\"The objects of the entity \(generated.entity.name) of the model \(model.name).", "",
            GeneratedFile.warning, "\"\"\"", "", "from __future__ import annotations", "",
        ]
        if let parent = model.parent(of: generated) {
            lines.append("from .\(moduleOfClass(parent)) import \(parent.name)")
        } else {
            lines.append("from corestone import ManagedObject")
        }
        for (title, entries) in constants(of: generated) {
            lines += ["", "", "class \(title):"] + entries.map { "    \($0.0) = \(literal($0.1))" }
        }
        lines += [
            "", "",
            "class \(machineName(generated))(\(baseName(generated)), entity=\(literal(generated.entity.name))):",
            "    __slots__ = ()", "", "    @classmethod", "    def insert_into(cls, context, /, **values):",
            "        return context.insert(\(literal(generated.entity.name)), **values)", "",
            "    @classmethod",
            "    def fetch_from(cls, context, /, predicate=None, *arguments, **options):",
            "        return context.fetch(\(literal(generated.entity.name)), predicate, *arguments, **options)",
        ]
        for (name, request) in model.templates(of: generated) {
            lines += [
                "", "    @classmethod",
                "    def \(Self.fetcher(name))(cls, context\(parameters(request))):",
                "        return context.fetch(\(arguments(request, generated.entity.name) { self.name($0) }))",
            ]
        }
        for attribute in model.attributes(of: generated) {
            if attribute.readsNullAsZero {
                lines += property(
                    attribute.name,
                    "self.primitive_value(\(literal(attribute.name))) or \(zero(attribute.type))")
            } else if name(attribute.name) != attribute.name {
                lines += property(attribute.name, "self.primitive_value(\(literal(attribute.name)))")
            }
        }
        for relationship in model.relationships(of: generated) where name(relationship.name) != relationship.name {
            lines += property(relationship.name, "self.primitive_value(\(literal(relationship.name)))")
        }
        for property in model.fetchedProperties(of: generated) where name(property.name) != property.name {
            lines += [
                "", "    @property", "    def \(name(property.name))(self):",
                "        return self[\(literal(property.name))]",
            ]
        }
        return lines
    }

    private func property(_ key: String, _ expression: String) -> [String] {
        [
            "", "    @property", "    def \(name(key))(self):", "        return \(expression)", "",
            "    @\(name(key)).setter", "    def \(name(key))(self, value):",
            "        self.set_primitive_value(\(literal(key)), value)",
        ]
    }

    private func zero(_ type: AttributeType) -> String {
        switch type {
        case .boolean: "False"
        case .double, .float: "0.0"
        default: "0"
        }
    }

    static func fetcher(_ template: String) -> String { "fetch_" + Spelling.snake(Spelling.identifier(template)) }

    private func parameters(_ request: GeneratedRequest) -> String {
        request.parameters.isEmpty ? "" : ", *, " + request.parameters.map(name).joined(separator: ", ")
    }

    private func arguments(_ request: GeneratedRequest, _ entity: String, _ value: (String) -> String) -> String {
        var words = [literal(entity)]
        if let format = request.format { words.append(literal(format)) }
        words += request.arguments.map(value)
        if !request.sortKeys.isEmpty { words.append("sort=[\(list(request.sortKeys))]") }
        if request.template.limit > 0 { words.append("limit=\(request.template.limit)") }
        if request.template.offset > 0 { words.append("offset=\(request.template.offset)") }
        if !request.template.includesSubentities { words.append("include_subentities=False") }
        return words.joined(separator: ", ")
    }

    /// Returns constants for property names and the user info, each group as a class.
    func constants(of generated: GeneratedClass) -> [(String, [(String, String)])] {
        let kinds: [(String, [(String, String)])] = [
            ("Attributes", model.attributes(of: generated).map { (name($0.name), $0.name) }),
            ("Relationships", model.relationships(of: generated).map { (name($0.name), $0.name) }),
            ("FetchedProperties", model.fetchedProperties(of: generated).map { (name($0.name), $0.name) }),
            (
                "UserInfo",
                generated.entity.userInfo.sorted { $0.key < $1.key }.map {
                    (name(Spelling.identifier($0.key)), $0.value)
                }
            ),
        ]
        return kinds.filter { !$0.1.isEmpty }.map { (generated.name + $0.0, $0.1) }
    }
}
