import Corestone

/// A generator of TypeScript types for the records of a model: the plain JSON that containers read and write.
///
/// There is a file with an interface for each class, and one with the types of values. A class that is not generated
/// completely also has a file for manual additions.
struct TypeScriptGenerator: CodeGenerator {
    private let model: GeneratedModel
    /// The names of the files without extension, and of the interfaces, by entity.
    private let files, names: [String: String]

    init(_ model: GeneratedModel) {
        self.model = model
        var (files, names, taken) = ([String: String](), [String: String](), Set<String>())
        for generated in model.classes {
            var name = generated.name
            while TypeScriptGenerator.reserved.contains(name) { name += "_" }
            names[generated.entity.name] = name
            var file = name
            // Some file systems ignore case.
            while !taken.insert(file.lowercased()).inserted || file.lowercased() == "index" { file += "_" }
            files[generated.entity.name] = file
        }
        (self.files, self.names) = (files, names)
    }

    func generate(_ write: (GeneratedFile) throws -> Void) throws {
        try write(GeneratedFile("index.ts", index))
        for generated in model.classes { try write(GeneratedFile("_\(file(generated)).ts", machineFile(generated))) }
        for generated in model.classes where generated.isSplit {
            let name = name(generated)
            let lines = [
                "/** Manual additions to the records of the entity \(generated.entity.name). */", "",
                "import type { _\(name), _\(name)Input } from \"./_\(file(generated)).js\";", "",
                "export * from \"./_\(file(generated)).js\";", "",
                "export interface \(name) extends _\(name) {}", "",
                "export interface \(name)Input extends _\(name)Input {}",
            ]
            try write(GeneratedFile("\(file(generated)).ts", lines, isForPeople: true))
        }
    }

    // MARK: Names

    /// Names that an interface cannot have.
    private static let reserved: Set<String> = [
        "any", "await", "bigint", "boolean", "break", "case", "catch", "class", "const", "continue", "debugger",
        "default", "delete", "do", "else", "enum", "export", "extends", "false", "finally", "for", "function", "if",
        "implements", "import", "in", "instanceof", "interface", "let", "never", "new", "null", "number", "object",
        "package", "private", "protected", "public", "return", "static", "string", "super", "switch", "symbol", "this",
        "throw", "true", "try", "type", "typeof", "undefined", "unknown", "var", "void", "while", "with", "yield",
    ]

    private func literal(_ text: String) -> String { Spelling.literal(text, .typeScript) }
    /// Returns the key of a property, in quotes unless it is an ASCII identifier.
    private func key(_ name: String) -> String {
        let isPlain =
            name.utf8.first.map { !(0x30...0x39).contains($0) } == true
            && name.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
            }
        return isPlain ? name : literal(name)
    }
    private func name(_ generated: GeneratedClass) -> String { names[generated.entity.name] ?? "" }
    private func machineName(_ generated: GeneratedClass) -> String {
        (generated.isSplit ? "_" : "") + name(generated)
    }
    private func file(_ generated: GeneratedClass) -> String { files[generated.entity.name] ?? "" }
    private func module(_ generated: GeneratedClass) -> String {
        "./\(generated.isSplit ? "" : "_")\(file(generated)).js"
    }

    // MARK: The index

    private var index: [String] {
        [
            "/**",
            " * Types of the records of the model \(Spelling.comment(model.name)): the JSON of cst_container_read and the like.",
            " *", " * \(GeneratedFile.warning)", " */", "",
            "/** The URI of an object. */", "export type ObjectURI = string;", "",
            "/** A date in ISO 8601, or the seconds since 2001-01-01 UTC if ISO 8601 cannot express it. */",
            "export type DateValue = string | number;", "",
            "/** A floating-point number. JSON does not have numbers that are not finite. */",
            "export type Real = number | \"Infinity\" | \"-Infinity\" | \"NaN\";", "",
            "/** A decimal number as text, without loss of digits. */", "export type Decimal = string;", "",
            "/** An integer of 64 bits. Numbers beyond Number.MAX_SAFE_INTEGER lose digits in JSON.parse. */",
            "export type Integer64 = number;", "",
            "/** A UUID as text. */", "export type UUID = string;", "",
            "/** Bytes in base64. */", "export type Base64 = string;", "",
            "/** A reference to an object in a record that is written: its URI, or a record, which is inserted or updated. */",
            "export type Reference<Input> = ObjectURI | (Input & { \"@id\"?: ObjectURI; \"@entity\"?: string });", "",
        ] + model.classes.map { "export * from \(literal(module($0)));" }.sorted()
    }

    // MARK: The generated files

    private func machineFile(_ generated: GeneratedClass) -> [String] {
        var body: [String] = []
        for (title, entries) in constants(of: generated) {
            body +=
                ["", "export const \(title) = {"] + entries.map { "  \(key($0.0)): \(literal($0.1))," } + [
                    "} as const;"
                ]
        }
        body += requests(of: generated)
        let (name, parent) = (machineName(generated), model.parent(of: generated))
        body += [
            "", "/** A record of the entity \(Spelling.comment(generated.entity.name)), as it is read. */",
            "export interface \(name)\(parent.map { " extends \(self.name($0))" } ?? "") {",
            "  \"@id\": $.ObjectURI;",
            "  /** The entity of the object, unless it is the requested one. */",
            "  \"@entity\"?: \(entities(generated));",
        ]
        body += model.attributes(of: generated).flatMap { declaration($0, isInput: false, indentation: "  ") }
        body += model.relationships(of: generated).map { relationship in
            let type =
                relationship.isToMany
                ? "$.ObjectURI[]" : "$.ObjectURI" + (relationship.isOptional ? " | null" : "")
            return "  \(key(relationship.name)): \(type);"
        }
        body += [
            "}", "",
            "/** A record of the entity \(Spelling.comment(generated.entity.name)) to be inserted; for an update, use Partial. */",
            "export interface \(name)Input\(parent.map { " extends \(self.name($0))Input" } ?? "") {",
        ]
        body += model.attributes(of: generated).flatMap { declaration($0, isInput: true, indentation: "  ") }
        body += model.relationships(of: generated).map { relationship in
            let target = model.generated(relationship.destination).map { "\(self.name($0))Input" } ?? "object"
            let reference = "$.Reference<\(target)>"
            let isRequired = !relationship.isOptional && relationship.minimumCount > 0
            let type =
                relationship.isToMany
                ? "\(reference)[]" : reference + (relationship.isOptional ? " | null" : "")
            return "  \(key(relationship.name))\(isRequired ? "" : "?"): \(type);"
        }
        body.append("}")
        return ["// \(GeneratedFile.warning)", "", "import type * as $ from \"./index.js\";"]
            + imports(of: generated, parent) + body
    }

    /// Returns the imports of the interfaces to which a file refers.
    private func imports(of generated: GeneratedClass, _ parent: GeneratedClass?) -> [String] {
        var needed: [String: Set<String>] = [:]
        func need(_ other: GeneratedClass, _ name: String) {
            if other.entity !== generated.entity { needed[module(other), default: []].insert(name) }
        }
        if let parent {
            need(parent, name(parent))
            need(parent, name(parent) + "Input")
        }
        for relationship in model.relationships(of: generated) {
            if let target = model.generated(relationship.destination) { need(target, name(target) + "Input") }
        }
        var lines = needed.sorted { $0.key < $1.key }.map { module, names in
            "import type { \(names.sorted().joined(separator: ", ")) } from \(literal(module));"
        }
        // The interface of a split class is in the file for manual additions.
        if generated.isSplit,
            model.relationships(of: generated).contains(where: { $0.destination === generated.entity })
        {
            lines.append("import type { \(name(generated))Input } from \(literal(module(generated)));")
        }
        return lines
    }

    /// Returns the type of "@entity": the names of the entity and of its subentities.
    private func entities(_ generated: GeneratedClass) -> String {
        generated.entity.withDescendants.map { literal($0.name) }.joined(separator: " | ")
    }

    /// Returns the declaration of an attribute; empty for attributes that records do not have.
    private func declaration(_ attribute: Attribute, isInput: Bool, indentation: String) -> [String] {
        if isInput, attribute.derivation != nil { return [] }
        let isRequired =
            isInput && !attribute.isOptional && attribute.defaultValue.isNull && !attribute.isTransient
            && attribute.type != .composite
        let name = indentation + key(attribute.name) + (isInput && !isRequired ? "?" : "")
        if attribute.type == .composite {
            let elements = attribute.elements.flatMap {
                declaration($0, isInput: isInput, indentation: indentation + "  ")
            }
            return ["\(name): {"] + elements + ["\(indentation)};"]
        }
        guard let type = type(of: attribute.type) else { return [] }
        return ["\(name): \(type)\(attribute.isOptional ? " | null" : "");"]
    }

    /// Returns the type of an attribute's values in records; nil for types that records do not have.
    private func type(of type: AttributeType) -> String? {
        switch type {
        case .integer16, .integer32: "number"
        case .integer64: "$.Integer64"
        case .double, .float: "$.Real"
        case .boolean: "boolean"
        case .decimal: "$.Decimal"
        case .string, .uri: "string"
        case .date: "$.DateValue"
        case .binary: "$.Base64"
        case .uuid: "$.UUID"
        case .objectID: "$.ObjectURI"
        case .undefined, .transformable, .composite: nil
        }
    }

    // MARK: Constants

    /// Returns constants for property names and the user info.
    private func constants(of generated: GeneratedClass) -> [(String, [(String, String)])] {
        func names(_ properties: [Property]) -> [(String, String)] { properties.map { ($0.name, $0.name) } }
        let kinds = [
            ("Attributes", names(model.attributes(of: generated))),
            ("Relationships", names(model.relationships(of: generated))),
            ("UserInfo", generated.entity.userInfo.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
        ]
        return kinds.filter { !$0.1.isEmpty }.map { (name(generated) + $0.0, $0.1) }
    }

    /// Returns a constant with the model's fetch requests for the entity, to be passed to a program with the library.
    private func requests(of generated: GeneratedClass) -> [String] {
        let templates = model.templates(of: generated)
        if templates.isEmpty { return [] }
        var lines = ["", "export const \(name(generated))FetchRequests = {"]
        for (template, request) in templates {
            var fields = ["entity: \(literal(generated.entity.name))"]
            if let predicate = request.template.predicate { fields.append("predicate: \(literal(predicate.text))") }
            if !request.parameters.isEmpty {
                fields.append("variables: [\(request.parameters.map(literal).joined(separator: ", "))]")
            }
            if !request.sortKeys.isEmpty {
                fields.append("sort: [\(request.sortKeys.map(literal).joined(separator: ", "))]")
            }
            if request.template.limit > 0 { fields.append("limit: \(request.template.limit)") }
            if request.template.offset > 0 { fields.append("offset: \(request.template.offset)") }
            if !request.template.includesSubentities { fields.append("includesSubentities: false") }
            lines.append("  \(key(template)): { \(fields.joined(separator: ", ")) },")
        }
        return lines + ["} as const;"]
    }
}
