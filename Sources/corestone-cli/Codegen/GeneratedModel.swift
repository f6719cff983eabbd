import Corestone

/// A model for code generation, with the generated classes and their names.
struct GeneratedModel {
    let name: String
    let model: Model
    /// The classes, with superentities before their subentities.
    let classes: [GeneratedClass]
    /// The names of the entities for which a class is not generated.
    let skipped: [String]
    /// The names of the classes.
    let classNames: Set<String>
    private let byEntity: [ObjectIdentifier: GeneratedClass]
    /// The fetch request templates by entity, sorted by name.
    private let templatesByEntity: [String: [(name: String, request: FetchRequestTemplate)]]

    /// Chooses the entities and names of the classes.
    ///
    /// - Parameter all: Whether entities with the codegen setting Manual/None get code too.
    init(_ model: Model, name: String, all: Bool) {
        self.model = model
        self.name = name
        // If no entity has a codegen setting, code is generated for every entity.
        let saysNothing = model.entities.allSatisfy { $0.codeGeneration == .manual }
        let chosen = model.preorder.filter { all || saysNothing || $0.codeGeneration != .manual }
        let classes = chosen.map { GeneratedClass($0) }
        self.classes = classes
        classNames = Set(classes.map(\.name))
        let byEntity = Dictionary(
            classes.map { (ObjectIdentifier($0.entity), $0) }, uniquingKeysWith: { first, _ in first })
        self.byEntity = byEntity
        skipped = model.preorder.filter { byEntity[ObjectIdentifier($0)] == nil }.map(\.name)
        templatesByEntity = Dictionary(
            grouping: model.fetchRequestTemplates.sorted { $0.key < $1.key }.map { (name: $0.key, request: $0.value) },
            by: \.request.entityName)
    }

    /// Returns the class of an entity, or nil if a class is not generated for the entity.
    func generated(_ entity: Entity?) -> GeneratedClass? {
        entity.flatMap { byEntity[ObjectIdentifier($0)] }
    }

    /// Returns the class of the nearest superentity for which a class is generated, or nil.
    func parent(of generated: GeneratedClass) -> GeneratedClass? {
        var entity = generated.entity.parent
        while let current = entity {
            if let found = self.generated(current) { return found }
            entity = current.parent
        }
        return nil
    }

    /// Returns the entities whose properties a class declares.
    ///
    /// They are the entity of the class, and its superentities below the nearest one that has a class.
    func ownEntities(of generated: GeneratedClass) -> [Entity] {
        let stop = parent(of: generated)?.entity
        return sequence(first: generated.entity, next: \.parent).prefix { $0 !== stop }.reversed()
    }

    func attributes(of generated: GeneratedClass) -> [Attribute] {
        ownEntities(of: generated).flatMap(\.ownAttributes)
    }
    func relationships(of generated: GeneratedClass) -> [Relationship] {
        ownEntities(of: generated).flatMap(\.ownRelationships)
    }
    func fetchedProperties(of generated: GeneratedClass) -> [FetchedProperty] {
        ownEntities(of: generated).flatMap(\.ownFetchedProperties)
    }

    /// Returns the fetch request templates of an entity, by name.
    func templates(of generated: GeneratedClass) -> [(name: String, request: GeneratedRequest)] {
        templatesByEntity[generated.entity.name, default: []].map { ($0.name, GeneratedRequest($0.request)) }
    }
}

/// An entity for which a class is generated.
struct GeneratedClass {
    let entity: Entity
    /// The name of the class in the application's code.
    let name: String
    /// Whether a base class is generated, and a subclass for manual changes.
    let isSplit: Bool

    init(_ entity: Entity) {
        self.entity = entity
        // "App.Item" and ".Item" contain the module. Class names in a model can contain any characters, so they are
        // converted to identifiers.
        let className = entity.className.split(separator: ".").last.map { String($0) } ?? ""
        name = className.isEmpty || className == "NSManagedObject" ? entity.name : Spelling.identifier(className)
        isSplit = entity.codeGeneration != .wholeClass
    }
}

/// The codegen setting of an entity in Xcode's inspector.
enum CodeGeneration {
    /// The setting "Manual/None".
    case manual
    /// The setting "Class Definition".
    case wholeClass
    /// The setting "Category/Extension": the class is written by hand, its properties are generated.
    case category
}

extension Entity {
    var codeGeneration: CodeGeneration {
        switch extras.attributes["codeGenerationType"] {
        case "class": .wholeClass
        case "category": .category
        default: .manual
        }
    }
}

extension Attribute {
    var usesScalarValue: Bool { extras.attributes["usesScalarValueType"] == "YES" }

    /// Whether generated code exposes null. In a scalar, null is 0.
    var isNullableInCode: Bool { isOptional && !(usesScalarValue && type.isScalar) }
    /// Whether null is read as 0.
    var readsNullAsZero: Bool { isOptional && usesScalarValue && type.isScalar }
}

extension AttributeType {
    /// Whether the type is a C scalar.
    var isScalar: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .double, .float, .boolean: true
        default: false
        }
    }
}

/// A fetch request with its variables as parameters.
struct GeneratedRequest {
    let template: FetchRequestTemplate
    /// The predicate with `%@` for each variable; nil for all objects.
    let format: String?
    /// The variable for each `%@`, in order, with an optional key path (`FETCH_SOURCE.name`).
    let arguments: [String]

    /// The variables, each listed once.
    var parameters: [String] {
        var known: Set<String> = []
        return arguments.filter { known.insert($0).inserted }
    }
    /// The sort keys, with the prefix "-" for descending order.
    var sortKeys: [String] { template.sortDescriptors.map { ($0.ascending ? "" : "-") + $0.keyPath } }

    init(_ template: FetchRequestTemplate) {
        self.template = template
        guard let text = template.predicate?.text else {
            (format, arguments) = (nil, [])
            return
        }
        var (format, arguments, quote) = ("", [String](), Character?.none)
        var rest = text[...]
        while let character = rest.popFirst() {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else if quote == nil, character == "$" {
                let name = rest.prefix { $0 == "_" || $0 == "." || $0.isLetter || $0.isNumber }
                rest = rest.dropFirst(name.count)
                arguments.append(String(name))
                format += "%@"
                continue
            }
            format.append(character)
        }
        (self.format, self.arguments) = (format, arguments)
    }
}
