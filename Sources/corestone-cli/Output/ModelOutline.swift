import Corestone

/// A model as text with a line for each part, sorted by name where the order is not significant.
///
/// A diff of two texts therefore shows only the changed parts.
struct ModelOutline {
    /// Whether version hashes are included.
    let withHashes: Bool
    private(set) var lines: [String] = []

    init(_ model: Model, withHashes: Bool) {
        self.withHashes = withHashes
        let identifiers = model.versionIdentifiers.filter { !$0.isEmpty }
        if !identifiers.isEmpty { lines.append("version \(identifiers.joined(separator: ", "))") }
        if withHashes { lines.append("checksum \(model.versionChecksum)") }
        let hashes = withHashes ? entityVersionHashes(of: model) : [:]
        for entity in model.entities.sorted(by: { $0.name < $1.name }) { add(entity, hashes[entity.name]) }
        for (name, request) in model.fetchRequestTemplates.sorted(by: { $0.key < $1.key }) {
            lines.append("fetch request \(name): \(ModelOutline.words(request))")
        }
        for configuration in model.configurations.sorted(by: { $0.name < $1.name }) {
            let cloud = configuration.isUsedWithCloudKit ? ", used with CloudKit" : ""
            lines.append(
                "configuration \(configuration.name): \(configuration.entityNames.joined(separator: ", "))\(cloud)")
        }
    }

    private mutating func add(_ entity: Entity, _ hash: [UInt8]?) {
        var details: [String] = []
        if let parent = entity.parent { details.append("inherits from \(parent.name)") }
        if entity.isAbstract { details.append("abstract") }
        if entity.className != "NSManagedObject" { details.append("class \(entity.className)") }
        if let former = entity.renamingIdentifier { details.append("formerly \(former)") }
        if let modifier = entity.versionHashModifier { details.append("version hash modifier \(modifier)") }
        details += ModelOutline.words(entity.extras)
        lines.append("entity \(entity.name)" + (details.isEmpty ? "" : ": \(details.joined(separator: ", "))"))
        if let hash { lines.append("  hash \(ModelOutline.hex(hash))") }
        for attribute in sorted(entity.ownAttributes) { add(attribute, indent: 1) }
        for relationship in sorted(entity.ownRelationships) {
            let notes = ShownSubject.notes(on: relationship, of: entity)
            add(
                relationship, indent: 1,
                "relationship \(relationship.name): \(relationship.destinationName)"
                    + (notes.isEmpty ? "" : ", \(notes)"))
        }
        for property in sorted(entity.ownFetchedProperties) {
            add(property, indent: 1, "fetched property \(property.name): \(ModelOutline.words(property.fetchRequest))")
        }
        for index in entity.indexes.sorted(by: { $0.name < $1.name }) { lines.append("  \(ModelOutline.words(index))") }
        for constraint in entity.uniqueConstraints { lines.append("  unique \(constraint.joined(separator: ", "))") }
        addUserInfo(entity.userInfo, indent: 1)
    }

    private mutating func add(_ attribute: Attribute, indent: Int) {
        let notes = ShownSubject.notes(on: attribute, of: attribute.entity)
        var words = "attribute \(attribute.name): \(attribute.type.sourceName)" + (notes.isEmpty ? "" : ", \(notes)")
        for rule in attribute.validationRules { words += ", \(rule.predicate.text)" }
        add(attribute, indent: indent, words)
        for element in attribute.elements { add(element, indent: indent + 1) }
    }

    private mutating func add(_ property: Property, indent: Int, _ words: String) {
        var words = words
        if let former = property.renamingIdentifier { words += ", formerly \(former)" }
        if let modifier = property.versionHashModifier { words += ", version hash modifier \(modifier)" }
        if property.isIndexedBySpotlight { words += ", indexed by Spotlight" }
        for extra in ModelOutline.words(property.extras) { words += ", \(extra)" }
        // Transient and fetched properties are not stored, and elements do not have version hashes of their own.
        if withHashes, !property.isTransient, !(property is FetchedProperty), indent == 1 {
            words += ", hash \(ModelOutline.hex(property.versionHash))"
        }
        lines.append(String(repeating: "  ", count: indent) + words)
        addUserInfo(property.userInfo, indent: indent + 1)
    }

    private mutating func addUserInfo(_ userInfo: [String: String], indent: Int) {
        for (key, value) in userInfo.sorted(by: { $0.key < $1.key }) {
            lines.append(String(repeating: "  ", count: indent) + "user info \(key): \(value)")
        }
    }

    /// Sorts properties by name, because their order is not significant.
    private func sorted<Kind: Property>(_ properties: [Kind]) -> [Kind] { properties.sorted { $0.name < $1.name } }

    /// Returns the settings of an element that `Model` does not represent, except for `syncable`.
    ///
    /// They are XML attributes of an .xcdatamodel.
    private static func words(_ extras: SourceExtras) -> [String] {
        extras.attributes.filter { $0.key != "syncable" }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    }

    private static func words(_ request: FetchRequestTemplate) -> String {
        var words = request.entityName + (request.predicate.map { " where \($0.text)" } ?? "")
        if request.limit > 0 { words += ", limit \(request.limit)" }
        if request.offset > 0 { words += ", offset \(request.offset)" }
        return words
    }

    private static func words(_ index: FetchIndex) -> String {
        let elements = index.elements.map { element in
            (element.expression?.text ?? element.property) + (element.isAscending ? "" : " descending")
        }
        let predicate = index.partialPredicate.map { " where \($0.text)" } ?? ""
        return
            "\(index.isRTree ? "R-tree index" : "index") \(index.name): \(elements.joined(separator: ", "))\(predicate)"
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
