import Corestone

/// The stub of a generated module.
extension PythonGenerator {
    func stub(_ generated: GeneratedClass) -> [String] {
        var body: [String] = []
        for (title, entries) in constants(of: generated) {
            body += ["", "class \(title):"] + entries.map { "    \($0.0): Final = \(literal($0.1))" }
        }
        body += [
            "",
            "class \(machineName(generated))(\(baseName(generated)), entity=\(literal(generated.entity.name))):",
        ]
        let words = TypeWords(generated.entity, model.classNames)
        for attribute in model.attributes(of: generated) { body.append(declaration(attribute, words)) }
        for relationship in model.relationships(of: generated) { body += declaration(relationship, words) }
        for property in model.fetchedProperties(of: generated) {
            let found = model.model.entity(named: property.fetchRequest.entityName)
            body += [
                "    @\(words["property"])",
                "    def \(name(property.name))(self) -> Sequence[\(className(found))]: ...",
            ]
        }
        body += functions(generated, words)
        let text = body.joined(separator: "\n")
        return ["# \(GeneratedFile.warning)", ""] + imports(for: text, of: generated, words) + body
    }

    /// The methods and Python properties of ManagedObject that a property of the same name overrides.
    private static let taken: Set<String> = [
        "committed_value", "context", "entity_name", "fetch_from", "get", "has_changes", "id", "insert_into",
        "is_changed",
        "is_deleted", "is_fault", "is_inserted", "is_updated", "primitive_value", "set", "set_primitive_value",
        "to_dict",
        "validate_for_delete", "validate_for_insert", "validate_for_update", "validate_value",
    ]

    private func remark(_ name: String) -> String {
        PythonGenerator.taken.contains(name) ? "  # type: ignore[assignment]" : ""
    }

    private func declaration(_ attribute: Attribute, _ words: TypeWords) -> String {
        "    \(name(attribute.name)): \(words["Attribute"])[\(type(of: attribute, words))]\(remark(attribute.name))"
    }

    private func declaration(_ relationship: Relationship, _ words: TypeWords) -> [String] {
        let target = className(relationship.destination)
        var type = "\(words["Attribute"])[\(target)\(relationship.isOptional ? " | None" : "")]"
        if relationship.isToMany {
            type = "\(words["ToMany"])[ToMany\(relationship.isOrdered ? "List" : "Set")[\(target)], \(target)]"
        }
        return ["    \(name(relationship.name)): \(type)\(remark(relationship.name))"]
    }

    private func className(_ entity: Entity?) -> String { model.generated(entity)?.name ?? "DynamicObject" }

    /// The names of types in a stub. A type gets an underscore if a property or a class has the same name.
    private struct TypeWords {
        private let properties, classes: Set<String>

        init(_ entity: Entity, _ classes: Set<String>) {
            properties = Set(entity.properties.map(\.name) + entity.fetchedProperties.map(\.name))
            self.classes = classes
        }

        subscript(word: String) -> String {
            word + (properties.contains(word) || classes.contains(word) ? "_" : "")
        }
    }

    private func type(of attribute: Attribute, _ words: TypeWords) -> String {
        let name: String
        switch attribute.type {
        case .integer16, .integer32, .integer64: name = "int"
        case .double, .float: name = "float"
        case .boolean: name = "bool"
        case .decimal: name = "Decimal"
        case .string, .uri: name = "str"
        case .date: name = "datetime"
        case .binary: name = "bytes"
        case .uuid: name = "UUID"
        case .undefined, .transformable, .objectID, .composite: return "Any"
        }
        return words[name] + (attribute.isNullableInCode ? " | None" : "")
    }

    private func functions(_ generated: GeneratedClass, _ words: TypeWords) -> [String] {
        let values = parameters(of: generated, words)
        let context = generated.entity.property(named: "context") == nil ? "context" : "context_"
        var lines = [
            "    @classmethod", "    def insert_into(", "        cls,", "        \(context): \(words["Context"]),",
            "        /,",
        ]
        if !values.isEmpty { lines += ["        *,"] + values.map { "        \($0) = ...," } }
        lines += ["    ) -> Self:", "        \"\"\"Inserts an object.\"\"\"", "    @classmethod"]
        if model.parent(of: generated) == nil {
            let (text, number, sort) = (words["str"], words["int"], words["SortKey"])
            lines += [
                "    def fetch_from(", "        cls,", "        context: \(words["Context"]),", "        /,",
                "        predicate: \(text) | \(words["Predicate"]) | None = None,", "        *arguments: Any,",
                "        sort: \(sort) | Sequence[\(sort)] = (),",
                "        limit: \(number) | None = None,",
                "        offset: \(number) = 0,", "        prefetch: \(text) | Sequence[\(text)] = (),",
                "    ) -> \(words["Results"])[Self]:",
                "        \"\"\"Fetches the objects that satisfy a predicate; see Context.fetch.\"\"\"",
            ]
        } else {
            lines.removeLast()
        }
        for (template, request) in model.templates(of: generated) {
            let parameters = request.parameters.map { ", \(name($0)): Any" }.joined()
            lines += [
                "    @classmethod",
                "    def \(PythonGenerator.fetcher(template))(cls, context: \(words["Context"])\(parameters.isEmpty ? "" : ", *\(parameters)")) -> \(words["Results"])[Self]:",
                "        \"\"\"The model's fetch request \(Spelling.comment(template)): \(Spelling.comment(request.template.predicate)).\"\"\"",
            ]
        }
        return lines
    }

    /// Returns the keyword parameters for a new object.
    private func parameters(of generated: GeneratedClass, _ words: TypeWords) -> [String] {
        let entity = generated.entity
        let attributes = entity.attributes.filter { $0.derivation == nil && $0.composite == nil }.map {
            ($0.name, type(of: $0, words))
        }
        let relationships = entity.relationships.map { relationship in
            let target = className(relationship.destination)
            return (relationship.name, relationship.isToMany ? "Iterable[\(target)]" : "\(target) | None")
        }
        return (attributes + relationships).filter { !PythonGenerator.reserved.contains($0.0) && $0.0 != "cls" }
            .map { "\($0.0): \($0.1)" }
    }

    private func imports(for text: String, of generated: GeneratedClass, _ words: TypeWords) -> [String] {
        let used = Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map { String($0) })
        func uses(_ word: String) -> Bool { used.contains(word) }
        func from(_ module: String, _ names: [String]) -> [String] {
            let imported =
                names.filter { words[$0] == $0 && uses($0) }
                + names.filter { uses($0 + "_") }.map { "\($0) as \($0)_" }
            return imported.isEmpty ? [] : ["from \(module) import \(imported.joined(separator: ", "))"]
        }
        let others = used.subtracting([machineName(generated)]).flatMap { classesByName[$0] ?? [] }
        let builtins = ["bool", "bytes", "float", "int", "property", "str"].filter { uses($0 + "_") }
        return builtins.map { "from builtins import \($0) as \($0)_" }
            + from("collections.abc", ["Iterable", "Sequence"]) + from("datetime", ["datetime"])
            + from("decimal", ["Decimal"]) + from("typing", ["Any", "Final"]) + from("uuid", ["UUID"]) + [""]
            + from(
                "corestone",
                [
                    "Attribute", "Context", "DynamicObject", "ManagedObject", "Predicate", "Results", "SortKey",
                    "ToMany", "ToManyList", "ToManySet",
                ])
            + ["from typing_extensions import Self", ""]
            + others.map { "from .\(moduleOfClass($0)) import \($0.name)" }.sorted()
    }
}
