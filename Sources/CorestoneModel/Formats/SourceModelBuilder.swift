import CorestoneValues

/// Makes a model of the elements of a source model (store-format.md section 4), one by one.
///
/// What refers to something that may stand further down is settled by `finish`. What has no place in a `Model` goes into
/// the `extras` of what it was said of: nothing that the file says is lost.
final class SourceModelBuilder {
    let model: Model
    private var parents: [(child: Entity, parent: String)] = []
    var relationships: [(entity: Entity, element: SourceElement)] = []
    var composites: [String: SourceElement] = [:]
    var usedComposites: Set<String> = []
    var compositeAttributes: [(attribute: Attribute, type: String)] = []
    var compositeElementCount = 0
    private var extras = SourceExtras()
    /// The attributes of the `<model>` itself, and the elements in it that are no entities.
    private var said = SourceElement("model", [:])

    /// Elements of composite attributes in all: types within types would grow without end.
    static let maximumCompositeElements = 100_000

    /// Whether the model is only to be looked at: what cannot be in one is noted, and the rest is read.
    let isDraft: Bool
    /// Problems of a draft that are told.
    static let maximumProblems = 1000

    init(_ model: Model, asDraft isDraft: Bool = false) { (self.model, self.isDraft) = (model, isDraft) }

    /// Runs a part of the reading. What a draft lacks ends that part alone.
    func attempt(_ body: () throws -> Void) throws {
        do { try body() } catch let problem as CoreError where isDraft && problem.status == .model { try note(problem) }
    }

    /// Takes note of what is wrong with a draft; for any other model it is the end.
    func note(_ problem: CoreError) throws {
        guard isDraft, model.draftProblems.count < SourceModelBuilder.maximumProblems else { throw problem }
        model.forgetMistake()
        model.draftProblems.append(problem.withoutObjects)
    }

    func begin(_ attributes: [String: String]) throws {
        model.sourceForm.place = 0
        extras.attributes = attributes
        said.attributes = attributes
        let name = "userDefinedModelVersionIdentifier"
        let identifiers = attributes[name] ?? ""
        // Several stand there with commas between them; without any the compiler writes an empty one.
        try identifiers.split(separator: ",", omittingEmptySubsequences: false).forEach {
            try model.addVersionIdentifier(String($0))
        }
        if model.versionIdentifiers.joined(separator: ",") == identifiers { extras.attributes[name] = nil }
    }

    func take(_ element: SourceElement) throws {
        var element = element
        if element.name != "entity" { said.elements.append(element) }
        try attempt { try read(&element) }
    }

    private func read(_ element: inout SourceElement) throws {
        switch element.name {
        case "entity": try addEntity(&element)
        case "fetchRequest":
            let name = try element.required("name")
            let isFirst = model.fetchRequestTemplates[name] == nil
            if isFirst { try model.setFetchRequestTemplate(FetchRequestTemplate(element), forName: name) }
            keep(element, unless: isFirst && element.isUnderstood)
        case "configuration":
            let name = try element.required("name")
            let isFirst = model.configuration(named: name) == nil
            if isFirst { try addConfiguration(named: name, element) }
            keep(element, unless: isFirst && element.isUnderstood)
        case "composite", "compositeAttribute":
            let name = try element.required("name")
            if composites[name] == nil { composites[name] = element } else { extras.elements.append(element) }
        default: extras.elements.append(element)
        }
    }

    private func keep(_ element: SourceElement, unless isUnderstood: Bool) {
        if !isUnderstood { extras.elements.append(element) }
    }

    private func addConfiguration(named name: String, _ element: SourceElement) throws {
        let members = element.elements.filter { $0.name == "memberEntity" }.compactMap { $0.attributes["name"] }
        try model.keepConfiguration(
            ModelConfiguration(
                name: name, entityNames: members, isUsedWithCloudKit: element.flag("usedWithCloudKit")))
    }

    func finish() throws {
        for (child, parent) in parents {
            try attempt {
                guard let known = model.entity(named: parent) else {
                    let near = nearestName(to: parent, among: model.entities.map(\.name)).map {
                        "did you mean \"\($0)\"?"
                    }
                    throw modelError(
                        "\(child.name) inherits from \"\(parent)\", which is not an entity of the model; "
                            + (near ?? "add the entity, or set another parent"), entity: child.name,
                        value: .string(parent))
                }
                try child.setParent(known)
                child.sourceForm.spellings["parentEntity"] = nil
            }
        }
        try addRelationships()
        for (attribute, type) in compositeAttributes { try attempt { try addElements(to: attribute, of: type) } }
        // The elements of a composite type lie in the attributes of the type, if there are any.
        for (name, composite) in composites {
            let isPlain = composite.attributes.count == 1 && composite.elements.allSatisfy { $0.name == "attribute" }
            keep(composite, unless: isPlain && usedComposites.contains(name))
        }
        extras.elements.sort { $0.place < $1.place }
        if !extras.isEmpty { try model.setExtras(extras) }
        model.sourceForm.note(said.attributes, extras, instead: model.sourceAttributes)
        model.sourceForm.note(said.elements, extras, instead: model.sourceElements)
    }

    // MARK: - Entities

    private func addEntity(_ element: inout SourceElement) throws {
        let entity = try model.addEntity(named: try element.required("name"))
        entity.sourceForm.place = element.place
        let said = element.attributes
        element.take("name")
        if let name = element.take("representedClassName"), !name.isEmpty { try entity.setClassName(name) }
        if element.takeFlag("isAbstract") { try entity.setAbstract(true) }
        if let parent = element.take("parentEntity") { parents.append((entity, parent)) }
        if let identifier = element.take("elementID"), identifier != entity.name {
            try entity.setRenamingIdentifier(identifier)
        }
        if let modifier = element.take("versionHashModifier") { try entity.setVersionHashModifier(modifier) }
        var rest = SourceExtras()
        rest.attributes = element.attributes
        try attempt { try addIndexesOfAttributes(to: entity, element) }
        for child in element.elements {
            try attempt { if !(try add(child, to: entity)) { rest.elements.append(child) } }
        }
        if !rest.isEmpty { try entity.setExtras(rest) }
        entity.sourceForm.note(said, rest, instead: entity.sourceAttributes)
        let others = element.elements.filter { !SourceModelBuilder.properties.contains($0.name) }
        entity.sourceForm.note(others, rest, instead: entity.sourceElements)
    }

    /// Elements that become properties.
    static let properties: Set<String> = ["attribute", "relationship", "fetchedProperty"]

    /// An attribute that is marked as indexed has an index of its name. The compiler marks those too that a fetch index
    /// has alone and ascending: Apple's stores then have both.
    private func addIndexesOfAttributes(to entity: Entity, _ element: SourceElement) throws {
        let marked = element.elements.filter { $0.name == "attribute" && $0.flag("indexed") }
        let spelt = try element.elements.filter { $0.name == "fetchIndex" }.map { try FetchIndex($0, of: entity) }
        let alone = spelt.filter(\.isPlain).map { $0.elements[0].property }
        let attributes = Set(element.elements.filter { $0.name == "attribute" }.compactMap { $0.attributes["name"] })
        var taken = Set(spelt.map(\.name))
        let marks = Set(marked.compactMap { $0.attributes["name"] })
        for name in sortedByBytes(marks.union(alone))
        where attributes.contains(name) && taken.insert(name).inserted {
            let isMarked = marks.contains(name)
            try entity.keepIndex(
                FetchIndex(name: name, elements: [.init(property: name)]).spelt(isMarked ? .attribute : .implied))
        }
    }

    /// Whether models have a place for all that the element says.
    private func add(_ element: SourceElement, to entity: Entity) throws -> Bool {
        var element = element
        switch element.name {
        case "attribute":
            let attribute = try entity.addAttribute(
                named: try element.required("name", of: entity), type: try type(of: element, entity))
            try describe(attribute, &element)
        case "relationship": relationships.append((entity, element))
        case "fetchedProperty": try addFetchedProperty(to: entity, &element)
        case "fetchIndex":
            try entity.keepIndex(try FetchIndex(element, of: entity))
            return element.isUnderstood
        case "compoundIndexes":
            for list in element.elements where list.name == "compoundIndex" {
                let names = list.elements.compactMap { $0.attributes["value"] }
                try entity.keepIndex(FetchIndex(compound: names, of: entity).spelt(.compoundIndex))
            }
            return element.isUnderstood
        case "uniquenessConstraints":
            for constraint in element.elements where constraint.name == "uniquenessConstraint" {
                try entity.addUniqueConstraint(constraint.elements.compactMap { $0.attributes["value"] })
            }
            return element.isUnderstood
        case "userInfo":
            return try take(element, isKnown: { entity.userInfoText($0) != nil }) {
                try entity.setUserInfo($1, forKey: $0)
            }
        default: return false
        }
        return true
    }

    /// The type of an `<attribute>`; in a draft one that is not known is none.
    private func type(of element: SourceElement, _ entity: Entity) throws -> AttributeType {
        do { return try element.attributeType(of: entity) } catch let problem as CoreError {
            try note(problem)
            return .undefined
        }
    }

    /// Whether models have a place for all that the `<userInfo>` says. A key that is there already is not set again.
    func take(
        _ userInfo: SourceElement, isKnown: (_ key: String) -> Bool,
        set: (_ key: String, _ value: String) throws -> Void
    ) throws -> Bool {
        var isUnderstood = userInfo.isUnderstood
        for (key, value) in userInfo.entries {
            if isKnown(key) { isUnderstood = false } else { try set(key, value) }
        }
        return isUnderstood
    }
}
