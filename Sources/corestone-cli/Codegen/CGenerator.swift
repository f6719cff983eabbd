import Corestone

/// A C header of typed inline functions that the machine writes, and one for people that includes it.
///
/// The functions call accessors of the library, which `NAME_bind` finds once.
struct CGenerator: CodeGenerator {
    let model: GeneratedModel
    /// What begins every name.
    let prefix: String
    /// By entity and property, how the property is spelt; what would be spelt like another one has an underscore behind.
    private let spellings: [String: [String: String]]
    /// The accessors that are wanted, in the order of their numbers.
    let accessors: [Accessor]
    /// The keys that are wanted of transformable attributes, likewise.
    let keys: [Accessor]

    /// What the functions of every entity are called.
    private static let ownNames: Set<String> = ["object", "from", "insert", "fetch_request"]

    struct Accessor {
        let entity: String
        let property: String
        let kind: String
        /// `ODD_NOTE_GET_PRICE`.
        let constant: String
    }

    init(_ model: GeneratedModel) {
        self.model = model
        let prefix = Spelling.snake(Spelling.identifier(model.name))
        self.prefix = prefix
        var (spellings, accessors, keys) = ([String: [String: String]](), [Accessor](), [Accessor]())
        let types = Set(model.classes.map { "\(prefix)_\(Spelling.snake($0.name))" })
        for generated in model.classes {
            let entity = generated.entity
            func plain(_ path: String) -> String {
                path.split(separator: ".").map { Spelling.snake(String($0)) }.joined(separator: "_")
            }
            var names: [String: String] = [:]
            // The bytes of a transformable attribute have functions beside those of its value.
            let transformed = entity.properties.filter { ($0 as? Attribute)?.type == .transformable }
            var taken = CGenerator.ownNames.union(transformed.map { plain($0.path) + "_bytes" })
            for property in (entity.properties + entity.fetchedProperties).map(\.path) {
                var name = plain(property)
                // A function must not be called like the type of another entity.
                let owner = "\(prefix)_\(Spelling.snake(generated.name))"
                while types.contains("\(owner)_\(name)") || !taken.insert(name).inserted { name += "_" }
                names[property] = name
            }
            spellings[entity.name] = names
            let leaves = model.attributes(of: generated).flatMap(\.leaves)
            for property in leaves as [Property] + model.relationships(of: generated) {
                func accessor(_ kind: String) -> Accessor {
                    let words = [prefix, Spelling.snake(generated.name), kind, names[property.path] ?? property.path]
                    return Accessor(
                        entity: entity.name, property: property.path, kind: kind,
                        constant: words.joined(separator: "_").uppercased())
                }
                accessors += property.accessorKinds.map(accessor)
                if (property as? Attribute)?.type == .transformable { keys.append(accessor("KEY_OF")) }
            }
        }
        (self.spellings, self.accessors, self.keys) = (spellings, accessors, keys)
    }

    var files: [GeneratedFile] {
        let machine = GeneratedFile("_\(model.name).h", header)
        guard model.classes.contains(where: \.isSplit) else { return [machine] }
        let guardName = "\(prefix.uppercased())_H"
        let people = [
            "/* The model \(model.name): what people write. */", "#ifndef \(guardName)", "#define \(guardName)", "",
            "#include \"_\(model.name).h\"", "", "#endif",
        ]
        return [machine, GeneratedFile("\(model.name).h", people, isForPeople: true)]
    }

    /// `odd_note`, which is the name of a type and begins those of its functions.
    func type(_ generated: GeneratedClass) -> String { "\(prefix)_\(Spelling.snake(generated.name))" }
    func spelling(_ property: Property, of generated: GeneratedClass) -> String {
        spellings[generated.entity.name]?[property.path] ?? property.path
    }

    // MARK: The header

    private var header: [String] {
        let upper = prefix.uppercased()
        var lines = [
            "/* clang-format off */", "/* Typed functions for the objects of the model \(model.name).", " *",
            " * \(GeneratedFile.warning)", " *",
            " * Call \(prefix)_bind once, before any other function; one C file of the program defines",
            " * \(upper)_IMPLEMENTATION before it includes this. A getter gives what cst_object_get lends, and zero when the value",
            " * is null or the call failed, which *error tells. What is inserted, a member at an index, a list of members and a",
            " * request are owned by the caller; a request is NULL when it could not be made.", " */",
            "#ifndef \(upper)_MACHINE_H", "#define \(upper)_MACHINE_H", "",
            "#include <corestone.h>", "", "#ifdef __cplusplus", "extern \"C\" {", "#endif", "",
            "/* Objects of one entity each: a cst_object * under another name. */",
        ]
        lines += model.classes.map { "typedef struct \(type($0)) \(type($0));" }
        lines += [
            "", "/* Finds what the functions call. The model is frozen, and must live as long as they are called. */",
            "cst_status \(prefix)_bind(cst_model *model, cst_error **error);", "",
        ]
        lines += constants
        lines += numbers
        for generated in model.classes { lines += functions(of: generated) }
        lines += implementation
        return lines + ["", "#ifdef __cplusplus", "}", "#endif", "#endif"]
    }

    /// Names of properties, and the user info.
    private var constants: [String] {
        var lines = ["/* Names of properties, and the user info of entities. */"]
        for generated in model.classes {
            let upper = type(generated).uppercased()
            let own: [Property] =
                model.attributes(of: generated).flatMap(\.withElements) as [Property]
                + model.relationships(of: generated) + model.fetchedProperties(of: generated)
            lines += own.map { property in
                "#define \(upper)_KEY_\(spelling(property, of: generated).uppercased()) \(Spelling.literal(property.path))"
            }
            lines += generated.entity.userInfo.sorted { $0.key < $1.key }.map { key, value in
                "#define \(upper)_USER_INFO_\(Spelling.upperSnake(Spelling.identifier(key))) \(Spelling.literal(value))"
            }
        }
        return lines + [""]
    }

    private var numbers: [String] {
        let upper = prefix.uppercased()
        return ["/* Of no concern to people: where \(prefix)_bind puts what it finds. */", "enum {"]
            + model.classes.map { "    \(type($0).uppercased())_ENTITY," } + ["    \(upper)_ENTITIES", "};", "enum {"]
            + accessors.map { "    \($0.constant)," }
            + [
                "    \(upper)_ACCESSORS", "};", "enum {",
            ] + keys.map { "    \($0.constant)," } + [
                "    \(upper)_KEYS", "};", "extern cst_key \(prefix)_keys[\(upper)_KEYS + 1];",
                "extern cst_entity *\(prefix)_entities[\(upper)_ENTITIES + 1];",
                "extern cst_function \(prefix)_accessors[\(upper)_ACCESSORS + 1];",
            ]
    }

    private var implementation: [String] {
        let upper = prefix.uppercased()
        return [
            "", "#ifdef \(upper)_IMPLEMENTATION", "cst_entity *\(prefix)_entities[\(upper)_ENTITIES + 1];",
            "cst_function \(prefix)_accessors[\(upper)_ACCESSORS + 1];",
            "cst_key \(prefix)_keys[\(upper)_KEYS + 1];", "",
            "cst_status \(prefix)_bind(cst_model *model, cst_error **error) {",
            "    static const char *const entities[] = {",
        ] + model.classes.map { "        \(Spelling.literal($0.entity.name))," } + [
            "        NULL};", "    static const struct {", "        int entity;", "        const char *property;",
            "        uint32_t kind;", "    } accessors[] = {",
        ] + accessors.map { "        {\(place(of: $0)), CST_ACCESSOR_\($0.kind)}," }
            + ["        {0, NULL, 0}}, keys[] = {"] + keys.map { "        {\(place(of: $0)), 0}," } + [
                "        {0, NULL, 0}};", "    cst_status status = cst_model_freeze(model, error);",
                "    for (int at = 0; status == CST_OK && entities[at] != NULL; at++) {",
                "        status = cst_model_entity(model, (cst_string){entities[at], CST_NUL}, &\(prefix)_entities[at], error);",
                "    }", "    for (int at = 0; status == CST_OK && accessors[at].property != NULL; at++) {",
                "        status = cst_entity_accessor(\(prefix)_entities[accessors[at].entity],",
                "                                     (cst_string){accessors[at].property, CST_NUL}, accessors[at].kind,",
                "                                     &\(prefix)_accessors[at], error);", "    }",
                "    for (int at = 0; status == CST_OK && keys[at].property != NULL; at++) {",
                "        status = cst_entity_key(\(prefix)_entities[keys[at].entity],",
                "                                (cst_string){keys[at].property, CST_NUL}, &\(prefix)_keys[at], error);",
                "    }", "    return status;",
                "}",
                "#endif",
            ]
    }

    private func place(of accessor: Accessor) -> String {
        let owner = model.classes.first { $0.entity.name == accessor.entity }.map(type) ?? ""
        return "\(owner.uppercased())_ENTITY, \(Spelling.literal(accessor.property))"
    }
}
