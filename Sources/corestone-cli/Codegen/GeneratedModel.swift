import Corestone

/// A model as code is written for it: which entities get a class, and what is called how.
struct GeneratedModel {
    let name: String
    let model: Model
    /// Parents before their children.
    let classes: [GeneratedClass]
    /// Entities whose code somebody writes by hand.
    let skipped: [String]
    /// What the classes are called.
    let classNames: Set<String>
    private let byEntity: [ObjectIdentifier: GeneratedClass]
    /// By entity, in order.
    private let templatesByEntity: [String: [(name: String, request: FetchRequestTemplate)]]

    /// - Parameter all: whether entities of which the model says that their code is written by hand get some too.
    init(_ model: Model, name: String, all: Bool) {
        self.model = model
        self.name = name
        // Where the model says nothing at all, whoever asks for code wants it for every entity.
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

    /// nil when the entity gets no class.
    func generated(_ entity: Entity?) -> GeneratedClass? {
        entity.flatMap { byEntity[ObjectIdentifier($0)] }
    }

    /// The class of the nearest ancestor that gets one.
    func parent(of generated: GeneratedClass) -> GeneratedClass? {
        var entity = generated.entity.parent
        while let current = entity {
            if let found = self.generated(current) { return found }
            entity = current.parent
        }
        return nil
    }

    /// What a class declares beyond its parent's: with what it inherits from entities that get no class.
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

    /// The fetch request templates of an entity, by name.
    func templates(of generated: GeneratedClass) -> [(name: String, request: GeneratedRequest)] {
        templatesByEntity[generated.entity.name, default: []].map { ($0.name, GeneratedRequest($0.request)) }
    }
}

/// An entity that gets a class.
struct GeneratedClass {
    let entity: Entity
    /// What people call the class.
    let name: String
    /// Whether the machine writes a class for people to inherit from, or the class itself.
    let isSplit: Bool

    init(_ entity: Entity) {
        self.entity = entity
        // "App.Item" and ".Item" name the module too. Nobody checks the name of a class in a model, and here it becomes code
        // and the name of a file.
        let className = entity.className.split(separator: ".").last.map { String($0) } ?? ""
        name = className.isEmpty || className == "NSManagedObject" ? entity.name : Spelling.identifier(className)
        isSplit = entity.codeGeneration != .wholeClass
    }
}

/// Who writes the code of an entity, as Xcode's inspector says it.
enum CodeGeneration {
    /// "Manual/None".
    case manual
    /// "Class Definition".
    case wholeClass
    /// "Category/Extension": people write the class, the machine its properties.
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

    /// Whether code sees null: a scalar cannot be it, and is 0 then.
    var isNullableInCode: Bool { isOptional && !(usesScalarValue && type.isScalar) }
    /// Whether null is read as 0.
    var readsNullAsZero: Bool { isOptional && usesScalarValue && type.isScalar }
}

extension AttributeType {
    /// Whether C has a type for it that is no pointer.
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
    /// The predicate with `%@` in the place of each variable; nil is every object.
    let format: String?
    /// What stands for each `%@`, in order: a variable, with a key path behind it at times (`FETCH_SOURCE.name`).
    let arguments: [String]

    /// The variables, each once.
    var parameters: [String] {
        var known: Set<String> = []
        return arguments.filter { known.insert($0).inserted }
    }
    /// The sort keys, "-" before those that sort descending.
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
