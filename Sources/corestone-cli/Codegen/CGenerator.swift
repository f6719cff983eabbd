import Corestone

/// A generator of a C header with typed inline functions.
///
/// If a class is not generated completely, a second header for manual additions includes the first one. Most functions
/// for properties call accessors of the library, which `NAME_bind` looks up once.
struct CGenerator: CodeGenerator {
    let model: GeneratedModel
    /// The prefix of every name.
    let prefix: String
    /// The names of all types.
    private let types: Set<String>

    /// The function names that no property of any entity can use.
    private static let ownNames: Set<String> = ["object", "from", "insert", "fetch_request"]

    /// An accessor or a key that the generated code uses.
    struct Accessor {
        let property: String
        let kind: String
        /// The name of the constant: `ODD_NOTE_GET_PRICE`.
        let constant: String
    }

    init(_ model: GeneratedModel) {
        self.model = model
        let prefix = Spelling.snake(Spelling.identifier(model.name))
        self.prefix = prefix
        types = Set(model.classes.map { "\(prefix)_\(Spelling.snake($0.name))" })
    }

    func generate(_ write: (GeneratedFile) throws -> Void) throws {
        try write(GeneratedFile("_\(model.name).h", pieces: header))
        guard model.classes.contains(where: \.isSplit) else { return }
        let guardName = "\(prefix.uppercased())_H"
        let people = [
            "/* The model \(model.name): manual additions. */", "#ifndef \(guardName)", "#define \(guardName)", "",
            "#include \"_\(model.name).h\"", "", "#endif",
        ]
        try write(GeneratedFile("\(model.name).h", people, isForPeople: true))
    }

    // MARK: Names

    /// A cache of the spellings of properties, because they are needed many times in a row.
    private final class Spellings {
        private var known: [ObjectIdentifier: [String: String]] = [:]
        /// The maximum number of cached classes, enough for an entity and its superentities.
        private static let most = 256

        func of(_ entity: Entity, _ make: () -> [String: String]) -> [String: String] {
            if let found = known[ObjectIdentifier(entity)] { return found }
            if known.count >= Spellings.most { known.removeAll() }
            let names = make()
            known[ObjectIdentifier(entity)] = names
            return names
        }
    }
    private let spellings = Spellings()

    func literal(_ text: String) -> String { Spelling.literal(text, .c) }

    /// Returns the spelling of a property in function names.
    ///
    /// Underscores are appended to a spelling that would collide with another name.
    func spelling(_ property: Property, of generated: GeneratedClass) -> String {
        spellings.of(generated.entity) { names(of: generated) }[property.path] ?? property.path
    }

    private func names(of generated: GeneratedClass) -> [String: String] {
        let entity = generated.entity
        func plain(_ path: String) -> String {
            path.split(separator: ".").map { Spelling.snake(String($0)) }.joined(separator: "_")
        }
        var names: [String: String] = [:]
        // A transformable attribute also has functions for its bytes.
        let transformed = entity.properties.filter { ($0 as? Attribute)?.type == .transformable }
        var taken = CGenerator.ownNames.union(transformed.map { plain($0.path) + "_bytes" })
        let owner = type(generated)
        for property in (entity.properties + entity.fetchedProperties).map(\.path) {
            var name = plain(property)
            // A function must not have the name of another entity's type.
            while types.contains("\(owner)_\(name)") || !taken.insert(name).inserted { name += "_" }
            names[property] = name
        }
        return names
    }

    /// Returns the accessors of a class, in the order of their numbers.
    private func accessors(of generated: GeneratedClass) -> [Accessor] {
        stored(generated).flatMap { property in
            property.accessorKinds.map { accessor(property, $0, generated) }
        }
    }
    /// Returns the keys of a class's transformable attributes, in the order of their numbers.
    private func keys(of generated: GeneratedClass) -> [Accessor] {
        stored(generated).filter { ($0 as? Attribute)?.type == .transformable }.map {
            accessor($0, "KEY_OF", generated)
        }
    }
    private func stored(_ generated: GeneratedClass) -> [Property] {
        model.attributes(of: generated).flatMap(\.leaves) as [Property] + model.relationships(of: generated)
    }
    private func accessor(_ property: Property, _ kind: String, _ generated: GeneratedClass) -> Accessor {
        let words = [prefix, Spelling.snake(generated.name), kind, spelling(property, of: generated)]
        return Accessor(property: property.path, kind: kind, constant: words.joined(separator: "_").uppercased())
    }

    /// Returns the name of a type, such as `odd_note`, which is also the prefix of its functions.
    func type(_ generated: GeneratedClass) -> String { "\(prefix)_\(Spelling.snake(generated.name))" }

    // MARK: The header

    /// The header, in pieces of a few lines.
    ///
    /// A class has many lines for each property, including inherited ones, so the whole header is never in memory.
    private var header: AnySequence<[String]> {
        let parts: [AnySequence<[String]>] = [
            piece { head }, eachClass { ["typedef struct \(type($0)) \(type($0));"] },
            piece {
                [
                    "",
                    "/* Looks up the accessors. Freezes the model, which must outlive all calls of the functions. */",
                    "cst_status \(prefix)_bind(cst_model *model, cst_error **error);", "",
                    "/* Names of properties, and the user info of entities. */",
                ]
            }, eachClass(constants(of:)),
            piece { ["", "/* Internal: filled in by \(prefix)_bind. */", "enum {"] },
            eachClass { ["    \(type($0).uppercased())_ENTITY,"] },
            piece { ["    \(upper)_ENTITIES", "};", "enum {"] },
            eachClass { accessors(of: $0).map { "    \($0.constant)," } },
            piece { ["    \(upper)_ACCESSORS", "};", "enum {"] },
            eachClass { keys(of: $0).map { "    \($0.constant)," } },
            piece {
                [
                    "    \(upper)_KEYS", "};", "extern cst_key \(prefix)_keys[\(upper)_KEYS + 1];",
                    "extern cst_entity *\(prefix)_entities[\(upper)_ENTITIES + 1];",
                    "extern cst_function \(prefix)_accessors[\(upper)_ACCESSORS + 1];",
                ]
            }, eachClass(functions(of:)), implementation,
            piece { ["", "#ifdef __cplusplus", "}", "#endif", "#endif"] },
        ]
        return AnySequence(parts.lazy.joined())
    }

    private var upper: String { prefix.uppercased() }

    private func piece(_ make: @escaping () -> [String]) -> AnySequence<[String]> {
        AnySequence(CollectionOfOne(()).lazy.map(make))
    }
    private func eachClass(_ make: @escaping (GeneratedClass) -> [String]) -> AnySequence<[String]> {
        AnySequence(model.classes.lazy.map(make))
    }

    private var head: [String] {
        [
            "/* clang-format off */", "/* Typed functions for the objects of the model \(model.name).", " *",
            " * \(GeneratedFile.warning)", " *",
            " * Call \(prefix)_bind once, before any other function. Exactly one C file of the program must define",
            " * \(upper)_IMPLEMENTATION before it includes this header. A getter returns the borrowed value of cst_object_get, or zero",
            " * if the value is null or the call fails; a failed call sets *error. The caller owns inserted objects, members at an",
            " * index, lists of members and requests. A request is NULL if it cannot be created.", " */",
            "#ifndef \(upper)_MACHINE_H", "#define \(upper)_MACHINE_H", "",
            "#include <corestone.h>", "", "#ifdef __cplusplus", "extern \"C\" {", "#endif", "",
            "/* One type for the objects of each entity; each is a cst_object. */",
        ]
    }

    /// Returns constants for the names of properties and for the user info.
    private func constants(of generated: GeneratedClass) -> [String] {
        let upper = type(generated).uppercased()
        let own: [Property] =
            model.attributes(of: generated).flatMap(\.withElements) as [Property]
            + model.relationships(of: generated) + model.fetchedProperties(of: generated)
        return own.map { property in
            "#define \(upper)_KEY_\(spelling(property, of: generated).uppercased()) \(literal(property.path))"
        }
            + generated.entity.userInfo.sorted { $0.key < $1.key }.map { key, value in
                "#define \(upper)_USER_INFO_\(Spelling.upperSnake(Spelling.identifier(key))) \(literal(value))"
            }
    }

    private var implementation: AnySequence<[String]> {
        let parts: [AnySequence<[String]>] = [
            piece {
                [
                    "", "#ifdef \(upper)_IMPLEMENTATION", "cst_entity *\(prefix)_entities[\(upper)_ENTITIES + 1];",
                    "cst_function \(prefix)_accessors[\(upper)_ACCESSORS + 1];",
                    "cst_key \(prefix)_keys[\(upper)_KEYS + 1];", "",
                    "cst_status \(prefix)_bind(cst_model *model, cst_error **error) {",
                    "    static const char *const entities[] = {",
                ]
            }, eachClass { ["        \(literal($0.entity.name)),"] },
            piece {
                [
                    "        NULL};", "    static const struct {", "        int entity;",
                    "        const char *property;", "        uint32_t kind;", "    } accessors[] = {",
                ]
            },
            eachClass { generated in
                accessors(of: generated).map { "        {\(place(of: $0, generated)), CST_ACCESSOR_\($0.kind)}," }
            }, piece { ["        {0, NULL, 0}}, keys[] = {"] },
            eachClass { generated in keys(of: generated).map { "        {\(place(of: $0, generated)), 0}," } },
            piece {
                [
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
            },
        ]
        return AnySequence(parts.lazy.joined())
    }

    private func place(of accessor: Accessor, _ generated: GeneratedClass) -> String {
        "\(type(generated).uppercased())_ENTITY, \(literal(accessor.property))"
    }
}
