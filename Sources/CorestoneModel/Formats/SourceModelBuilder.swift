import CorestoneFormats
import CorestoneValues

/// A builder of a model from the elements of a source model.
///
/// See docs/reference/model.md, "Models that Xcode wrote".
///
/// Elements are added one by one. `finish` resolves references to elements that may follow later. Content that `Model`
/// does not represent is kept in the `extras` of its part, so that no information is lost.
final class SourceModelBuilder {
    let model: Model
    private var parents: [(child: Entity, parent: String)] = []
    var relationships: [(entity: Entity, element: SourceElement)] = []
    var composites: [String: SourceElement] = [:]
    var usedComposites: Set<String> = []
    var compositeAttributes: [(attribute: Attribute, type: String)] = []
    var compositeElementCount = 0
    private var extras = SourceExtras()
    /// The `<model>` element with its attributes, and its children except entities.
    private var original = SourceElement("model", [:])

    /// The maximum number of elements of all composite attributes.
    ///
    /// Without this limit, a small file with nested types could expand to too many elements.
    static let maximumCompositeElements = 100_000

    /// Whether the model is a draft, which is only inspected.
    ///
    /// Problems of a draft are recorded, and the reading continues with the next part.
    let isDraft: Bool
    /// The maximum number of recorded problems of a draft.
    static let maximumProblems = 1000

    init(_ model: Model, asDraft isDraft: Bool = false) { (self.model, self.isDraft) = (model, isDraft) }

    /// Reads a part of the model with `body`. In a draft, a `.model` error ends only the reading of this part.
    func attempt(_ body: () throws -> Void) throws {
        do { try body() } catch let problem as CoreError where isDraft && problem.status == .model { try note(problem) }
    }

    /// Records a problem of a draft. Throws the problem for any other model, or if the draft has too many problems.
    func note(_ problem: CoreError) throws {
        guard isDraft, model.draftProblems.count < SourceModelBuilder.maximumProblems else { throw problem }
        model.clearFirstError()
        model.draftProblems.append(problem.withoutObjects)
    }

    func begin(_ attributes: [String: String]) throws {
        model.sourceForm.place = 0
        extras.attributes = attributes
        original.attributes = attributes
        let name = "userDefinedModelVersionIdentifier"
        let identifiers = attributes[name] ?? ""
        // Several identifiers are separated by commas. Without an identifier, the compiler writes an empty one.
        try identifiers.split(separator: ",", omittingEmptySubsequences: false).forEach {
            try model.addVersionIdentifier(String($0))
        }
        if model.versionIdentifiers.joined(separator: ",") == identifiers { extras.attributes[name] = nil }
    }

    func add(_ element: SourceElement) throws {
        var element = element
        if element.name != "entity" { original.elements.append(element) }
        try attempt { try read(&element) }
    }

    private func read(_ element: inout SourceElement) throws {
        switch element.name {
        case "entity": try addEntity(&element)
        case "fetchRequest":
            let name = try element.required("name")
            let isFirst = model.fetchRequestTemplates[name] == nil
            if isFirst { try model.setFetchRequestTemplate(FetchRequestTemplate(element), forName: name) }
            retainContent(of: element, unless: isFirst && element.isUnderstood)
        case "configuration":
            let name = try element.required("name")
            let isFirst = model.configuration(named: name) == nil
            if isFirst { try addConfiguration(named: name, element) }
            retainContent(of: element, unless: isFirst && element.isUnderstood)
        case "composite", "compositeAttribute":
            let name = try element.required("name")
            if composites[name] == nil { composites[name] = element } else { extras.elements.append(element) }
        default: extras.elements.append(element)
        }
    }

    private func retainContent(of element: SourceElement, unless isUnderstood: Bool) {
        if !isUnderstood { extras.elements.append(element) }
    }

    private func addConfiguration(named name: String, _ element: SourceElement) throws {
        let members = element.elements.filter { $0.name == "memberEntity" }.compactMap { $0.attributes["name"] }
        try model.upsertConfiguration(
            ModelConfiguration(
                name: name, entityNames: members, isUsedWithCloudKit: element.flag("usedWithCloudKit")))
    }

    func finish() throws {
        for (child, parent) in parents {
            try attempt {
                guard let known = model.entity(named: parent) else {
                    // An entity cannot inherit from itself.
                    let names = model.entities.map(\.name).filter { $0 != child.name }
                    let near = nearestName(to: parent, among: names).map { "did you mean \"\($0)\"?" }
                    throw modelError(
                        "\(child.name) inherits from \"\(parent)\", which is not an entity of the model; "
                            + (near ?? "add the entity, or set another superentity"), entity: child.name,
                        value: .string(parent))
                }
                try child.setParent(known)
                child.sourceForm.spellings["parentEntity"] = nil
            }
        }
        try addRelationships()
        for (attribute, type) in compositeAttributes { try attempt { try addElements(to: attribute, of: type) } }
        // A composite type without other content is not kept if attributes use it, because they already contain its
        // elements.
        for (name, composite) in composites {
            let isPlain = composite.attributes.count == 1 && composite.elements.allSatisfy { $0.name == "attribute" }
            retainContent(of: composite, unless: isPlain && usedComposites.contains(name))
        }
        extras.elements.sort { $0.place < $1.place }
        if !extras.isEmpty { try model.setExtras(extras) }
        model.sourceForm.note(original.attributes, extras, instead: model.sourceAttributes)
        model.sourceForm.note(original.elements, extras, instead: model.sourceElements)
    }

    // MARK: - Entities

    private func addEntity(_ element: inout SourceElement) throws {
        let entity = try model.addEntity(named: try element.required("name"))
        entity.sourceForm.place = element.place
        let original = element.attributes
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
        entity.sourceForm.note(original, rest, instead: entity.sourceAttributes)
        let others = element.elements.filter { !SourceModelBuilder.properties.contains($0.name) }
        entity.sourceForm.note(others, rest, instead: entity.sourceElements)
    }

    /// The names of the elements that become properties.
    static let properties: Set<String> = ["attribute", "relationship", "fetchedProperty"]

    /// Adds the indexes of single attributes. Each index has the name of its attribute.
    ///
    /// Such an index is added for an attribute that is marked as indexed, or that is the only element of a fetch index,
    /// in ascending order. In the second case, Apple's stores have both indexes.
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
            try entity.appendIndex(
                FetchIndex(name: name, elements: [.init(property: name)]).spelt(isMarked ? .attribute : .implied))
        }
    }

    /// Adds a child element. Returns whether the model represents all of its content.
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
            try entity.appendIndex(try FetchIndex(element, of: entity))
            return element.isUnderstood
        case "compoundIndexes":
            for list in element.elements where list.name == "compoundIndex" {
                let names = list.elements.compactMap { $0.attributes["value"] }
                try entity.appendIndex(FetchIndex(compound: names, of: entity).spelt(.compoundIndex))
            }
            return element.isUnderstood
        case "uniquenessConstraints":
            for constraint in element.elements where constraint.name == "uniquenessConstraint" {
                try entity.addUniqueConstraint(constraint.elements.compactMap { $0.attributes["value"] })
            }
            return element.isUnderstood
        case "userInfo":
            return try readUserInfo(element, isKnown: { entity.userInfoText($0) != nil }) {
                try entity.setUserInfo($1, forKey: $0)
            }
        default: return false
        }
        return true
    }

    /// Returns the type of an `<attribute>`. In a draft, an unknown type is read as undefined.
    private func type(of element: SourceElement, _ entity: Entity) throws -> AttributeType {
        do { return try element.attributeType(of: entity) } catch let problem as CoreError {
            try note(problem)
            return .undefined
        }
    }

    /// Reads a `<userInfo>`, without keys that are already set.
    ///
    /// Returns whether the model represents all of its content.
    func readUserInfo(
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
