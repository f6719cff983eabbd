import CorestonePredicate
import CorestoneValues

/// Makes a model of the elements of a source model (store-format.md section 4), one by one.
///
/// What refers to something that may stand further down is settled by `finish`. What has no place in a `Model` goes into
/// the `extras` of what it was said of.
final class SourceModelBuilder {
    let model: Model
    private var parents: [(child: Entity, parent: String)] = []
    private var relationships: [(entity: Entity, element: SourceElement)] = []
    private var composites: [String: SourceElement] = [:]
    private var compositeAttributes: [(attribute: Attribute, type: String)] = []
    private var compositeElementCount = 0
    private var extras = SourceExtras()

    /// Elements of composite attributes in all: types within types would grow without end.
    static let maximumCompositeElements = 100_000

    init(_ model: Model) { self.model = model }

    func begin(_ attributes: [String: String]) throws {
        extras.attributes = attributes
        let identifier = extras.attributes.removeValue(forKey: "userDefinedModelVersionIdentifier")
        // Several stand there with commas between them; without any the compiler writes an empty one.
        try (identifier ?? "").split(separator: ",", omittingEmptySubsequences: false).forEach {
            try model.addVersionIdentifier(String($0))
        }
    }

    func take(_ element: SourceElement) throws {
        var element = element
        switch element.name {
        case "entity": try addEntity(&element)
        case "fetchRequest":
            let name = try element.required("name")
            try model.setFetchRequestTemplate(FetchRequestTemplate(element), forName: name)
        case "configuration":
            let members = element.elements.filter { $0.name == "memberEntity" }.compactMap { $0.attributes["name"] }
            try model.setConfiguration(
                ModelConfiguration(
                    name: try element.required("name"), entityNames: members,
                    isUsedWithCloudKit: element.flag("usedWithCloudKit")))
        case "composite", "compositeAttribute": composites[try element.required("name")] = element
        default: extras.elements.append(element)
        }
    }

    func finish() throws {
        for (child, parent) in parents {
            guard let parent = model.entity(named: parent) else {
                throw modelError(
                    "\(child.name) inherits from \(parent), which is no entity of the model", entity: child.name)
            }
            try child.setParent(parent)
        }
        var inverses = InverseNames()
        for (entity, element) in relationships {
            let relationship = try addRelationship(to: entity, element)
            if let inverse = element.attributes["inverseName"] { inverses.add(relationship, inverse: inverse) }
        }
        try inverses.connect()
        for (attribute, type) in compositeAttributes { try addElements(to: attribute, of: type) }
        if !extras.isEmpty { try model.setExtras(extras) }
    }

    // MARK: - Entities

    private func addEntity(_ element: inout SourceElement) throws {
        let entity = try model.addEntity(named: try element.required("name"))
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
        try addIndexesOfAttributes(to: entity, element)
        for child in element.elements where !(try add(child, to: entity)) { rest.elements.append(child) }
        if !rest.isEmpty { try entity.setExtras(rest) }
    }

    /// An attribute that is marked as indexed has an index of its name. The compiler marks those too that a fetch index
    /// has alone and ascending: Apple's stores then have both.
    private func addIndexesOfAttributes(to entity: Entity, _ element: SourceElement) throws {
        let marked = element.elements.filter { $0.name == "attribute" && $0.flag("indexed") }
        let spelt = try element.elements.filter { $0.name == "fetchIndex" }.map { try FetchIndex($0) }
        let alone = spelt.filter(\.isPlain).map { $0.elements[0].property }
        let attributes = Set(element.elements.filter { $0.name == "attribute" }.compactMap { $0.attributes["name"] })
        var taken = Set(spelt.map(\.name))
        for name in sortedByBytes(marked.compactMap { $0.attributes["name"] } + alone)
        where attributes.contains(name) && taken.insert(name).inserted {
            try entity.addIndex(FetchIndex(name: name, elements: [.init(property: name)]))
        }
    }

    /// Whether the element was one that models have a place for.
    private func add(_ element: SourceElement, to entity: Entity) throws -> Bool {
        var element = element
        switch element.name {
        case "attribute":
            let attribute = try entity.addAttribute(
                named: try element.required("name"), type: try element.attributeType(of: entity))
            try describe(attribute, &element)
        case "relationship": relationships.append((entity, element))
        case "fetchedProperty": try addFetchedProperty(to: entity, &element)
        case "fetchIndex": try entity.addIndex(try FetchIndex(element))
        case "compoundIndexes":
            for list in element.elements where list.name == "compoundIndex" {
                let names = list.elements.compactMap { $0.attributes["value"] }
                try entity.addIndex(
                    FetchIndex(name: names.joined(separator: "_"), elements: names.map { .init(property: $0) }))
            }
        case "uniquenessConstraints":
            for constraint in element.elements where constraint.name == "uniquenessConstraint" {
                try entity.addUniqueConstraint(constraint.elements.compactMap { $0.attributes["value"] })
            }
        case "userInfo": for (key, value) in element.entries { try entity.setUserInfo(value, forKey: key) }
        default: return false
        }
        return true
    }

    // MARK: - Properties

    /// What every kind of property says; the rest of the element are its extras.
    private func finish(_ property: Property, _ element: inout SourceElement) throws {
        element.take("name")
        try property.setOptional(element.takeFlag("optional"))
        if element.takeFlag("transient") { try property.setTransient(true) }
        if element.takeFlag("spotlightIndexingEnabled") { try property.setIndexedBySpotlight(true) }
        if element.takeFlag("storedInTruthFile") { try property.setStoredInExternalRecord(true) }
        if let identifier = element.take("elementID"), identifier != property.name {
            try property.setRenamingIdentifier(identifier)
        }
        if let modifier = element.take("versionHashModifier") { try property.setVersionHashModifier(modifier) }
        var extras = SourceExtras()
        extras.attributes = element.attributes
        for child in element.elements {
            guard child.name == "userInfo" else {
                extras.elements.append(child)
                continue
            }
            for (key, value) in child.entries { try property.setUserInfo(value, forKey: key) }
        }
        if !extras.isEmpty { try property.setExtras(extras) }
    }

    private func describe(_ attribute: Attribute, _ element: inout SourceElement) throws {
        element.take("attributeType")
        element.take("indexed")
        if element.takeFlag("allowsExternalBinaryDataStorage") { try attribute.setAllowsExternalStorage(true) }
        if element.takeFlag("preserveAfterDeletion") { try attribute.setPreservesValueInHistory(true) }
        if element.takeFlag("allowsCloudEncryption") { try attribute.setAllowsCloudEncryption(true) }
        if let name = element.take("valueTransformerName"), !name.isEmpty {
            try attribute.setValueTransformerName(name)
        }
        if let name = element.take("customClassName") { try attribute.setValueClassName(name) }
        if let type = element.take("composite") {
            try attribute.setCompositeName(type)
            compositeAttributes.append((attribute, type))
        }
        if element.takeFlag("derived"), let text = element.take("derivationExpression") {
            try attribute.setDerivation(Derivation(ExpressionText(text)))
        }
        if let value = element.takeDefault(of: attribute.type) { try attribute.setDefaultValue(value) }
        let rules = element.takeRules(of: attribute.type)
        if !rules.isEmpty { try attribute.setValidationRules(rules) }
        try finish(attribute, &element)
    }

    private func addElements(to attribute: Attribute, of type: String) throws {
        guard let composite = composites[type] else {
            throw modelError(
                "\(attribute.entity.name).\(attribute.path) is of the composite type \(type), which the model lacks",
                entity: attribute.entity.name, key: attribute.path)
        }
        let first = compositeAttributes.count
        for var element in composite.elements where element.name == "attribute" {
            compositeElementCount += 1
            guard compositeElementCount <= SourceModelBuilder.maximumCompositeElements else {
                throw modelError(
                    "composite attributes have more than \(SourceModelBuilder.maximumCompositeElements) elements "
                        + "together", entity: attribute.entity.name, key: attribute.path)
            }
            let child = try attribute.addElement(
                named: try element.required("name"), type: try element.attributeType(of: attribute.entity))
            try describe(child, &element)
        }
        let nested = compositeAttributes[first...]
        compositeAttributes.removeSubrange(first...)
        for (child, type) in nested { try addElements(to: child, of: type) }
    }

    private func addRelationship(to entity: Entity, _ element: SourceElement) throws -> Relationship {
        var element = element
        let name = try element.required("name")
        let target = element.take("destinationEntity") ?? "nothing"
        guard let destination = model.entity(named: target) else {
            throw modelError(
                "\(entity.name).\(name) leads to \(target), which is no entity of the model", entity: entity.name,
                key: name)
        }
        let maximum = element.take("maxCount").flatMap { UInt32($0) }
        let minimum = element.take("minCount").flatMap { UInt32($0) } ?? 0
        let isToMany = element.takeFlag("toMany") || maximum.map { $0 != 1 } ?? false
        let relationship = try entity.addRelationship(
            named: name, destination: destination, isToMany: isToMany,
            isOrdered: element.takeFlag("ordered") && isToMany)
        try relationship.setCounts(minimum: minimum, maximum: isToMany ? maximum ?? 0 : 1)
        if let text = element.take("deletionRule"), let rule = DeleteRule(source: text) {
            try relationship.setDeleteRule(rule)
        }
        element.take("inverseName")
        element.take("inverseEntity")
        try finish(relationship, &element)
        return relationship
    }

    private func addFetchedProperty(to entity: Entity, _ element: inout SourceElement) throws {
        let name = try element.required("name")
        guard let place = element.elements.firstIndex(where: { $0.name == "fetchRequest" }) else {
            throw modelError(
                "the fetched property \(entity.name).\(name) has no fetch request", entity: entity.name, key: name)
        }
        let request = FetchRequestTemplate(element.elements.remove(at: place))
        try finish(try entity.addFetchedProperty(named: name, fetchRequest: request), &element)
    }
}
