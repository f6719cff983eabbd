import CorestoneFormats
import CorestonePredicate
import CorestoneValues

extension Model {
    /// Reads the model of a `.mom` file, or of a decompressed `Z_MODELCACHE`. The model is not frozen.
    ///
    /// - Throws: `.storeCorrupt` if the bytes are not a compiled model or exceed a limit.
    ///   `.model` if the model is inconsistent.
    public convenience init(compiledModel bytes: [UInt8]) throws {
        self.init()
        try read(compiled: try KeyedArchiveReader(bytes))
    }

    private func read(compiled archive: KeyedArchiveReader) throws {
        guard let root = archive.rootFields, root["NSEntities"] != nil else {
            throw archiveError(
                "the keyed archive does not contain a managed object model; use a .mom file")
        }
        try CompiledModelReader(archive, into: self).read(root)
    }

    /// Reads an archive of either kind: a compiled model, or an archive of Xcode's editor.
    func read(archive: KeyedArchiveReader) throws {
        if archive.className(archive.root) == EditorModelReader.className {
            try read(editor: archive)
        } else {
            try read(compiled: archive)
        }
    }

    /// Reads the model that a store contains in `Z_MODELCACHE`: a compiled model compressed with raw DEFLATE.
    public convenience init(modelCache bytes: [UInt8]) throws {
        try self.init(compiledModel: inflateRaw(bytes, limit: Model.maximumFileSize))
    }
}

package func archiveError(_ message: String) -> CoreError {
    CoreError(.storeCorrupt, code: .persistentStoreOpen, message)
}

/// A builder of a model from an archive of `NSManagedObjectModel`, the content of a `.mom` file.
///
/// The archive may be untrusted. The model's own rules are checked, missing fields have Core Data's defaults, and
/// unknown fields are ignored.
final class CompiledModelReader {
    typealias Fields = KeyedArchiveReader.Fields

    /// The maximum number of parts that are read: entities, properties, user info entries, predicates and others.
    ///
    /// A small archive can share one list among many objects, so its size does not bound the work.
    static let maximumCount = 1_000_000

    let archive: KeyedArchiveReader
    let model: Model
    /// The archived fields of each entity, by name.
    private var fields: [String: Fields] = [:]
    private var count = 0
    private var inverses = PendingInverses()

    init(_ archive: KeyedArchiveReader, into model: Model) {
        self.archive = archive
        self.model = model
    }

    func read(_ root: Fields) throws {
        for identifier in archive.elements(root["NSVersionIdentifiers"]).compactMap({ archive.string($0) }) {
            try model.addVersionIdentifier(identifier)
        }
        let entries = archive.entries(root["NSEntities"])
        try spend(entries.count)
        for (name, reference) in entries where fields[name] == nil { fields[name] = archive.fields(reference) }
        for name in sortedByBytes(fields.keys) { try model.addEntity(named: name) }
        for entity in model.entities { try describe(entity, fields[entity.name] ?? [:]) }
        for entity in model.entities { try readProperties(of: entity, fields[entity.name] ?? [:]) }
        try inverses.connect()
        for entity in model.entities { try readIndexes(of: entity, fields[entity.name] ?? [:]) }
        try readTemplates(root)
        try readConfigurations(root)
    }

    /// Counts the parts that are read. The limit bounds the work that shared lists can cause.
    func spend(_ amount: Int) throws {
        count += amount
        guard count <= CompiledModelReader.maximumCount else {
            throw archiveError(
                "the model lists more than \(CompiledModelReader.maximumCount) parts, counting inherited and shared "
                    + "ones repeatedly, which is the limit; split the model"
            )
        }
    }

    /// Decodes a predicate or an expression. An error names the owner.
    func naming<Meaning>(
        _ owner: String, _ entity: String?, _ key: String, _ read: () throws -> Meaning
    ) throws -> Meaning {
        do { return try read() } catch let error as CoreError {
            throw error.within(owner, entity: entity, key: key)
        }
    }

    // MARK: - Entities

    private func describe(_ entity: Entity, _ fields: Fields) throws {
        if let parent = archive.string(archive.fields(fields["NSSuperentity"])?["NSEntityName"]) {
            try entity.setParent(try required(parent, "\(entity.name) inherits from", entity))
        }
        if fields["NSIsAbstract"]?.flag == true { try entity.setAbstract(true) }
        if let name = archive.string(fields["NSClassNameForEntity"]) { try entity.setClassName(name) }
        try entity.setVersionHashModifier(archive.string(fields["NSVersionHashModifier"]))
        if let identifier = archive.string(fields["NSRenamingIdentifier"]), identifier != entity.name {
            try entity.setRenamingIdentifier(identifier)
        }
        for (key, value) in try userInfo(fields) { try entity.setUserInfo(value, forKey: key) }
    }

    /// Returns the entity to which another part of the archive refers.
    func required(_ name: String, _ reference: String, _ entity: Entity, key: String? = nil) throws -> Entity {
        if let found = model.entity(named: name) { return found }
        throw modelError(
            "\(reference) \"\(name)\", which is not an entity of the model; add the entity, and compile the model "
                + "again",
            entity: entity.name, key: key, value: .string(name))
    }

    func userInfo(_ fields: Fields) throws -> [(String, String)] {
        let entries = archive.entries(fields["NSUserInfo"])
        try spend(entries.count)
        return entries.compactMap { key, value in archive.string(value).map { (key, $0) } }
    }

    // MARK: - Properties

    /// Reads the properties of an entity. The archived list can include inherited properties, which are skipped.
    private func readProperties(of entity: Entity, _ fields: Fields) throws {
        let entries = archive.entries(fields["NSProperties"])
        try spend(entries.count)
        var inherited: Set<String> = []
        if let parent = entity.parent, let list = self.fields[parent.name]?["NSProperties"] {
            let names = archive.entries(list).map(\.key)
            try spend(names.count)
            inherited = Set(names)
        }
        var own: [String: PropertyListValue] = [:]
        for (name, reference) in entries where !inherited.contains(name) { own[name] = reference }
        for name in sortedByBytes(own.keys) {
            // A proxy can take the place of a property.
            let reference = archive.fields(own[name])?["NSUnderlyingProperty"] ?? own[name]
            guard let fields = archive.fields(reference) else { continue }
            try readProperty(named: name, of: archive.className(reference), fields, entity)
        }
    }

    private func readProperty(named name: String, of className: String?, _ fields: Fields, _ entity: Entity) throws {
        let property: Property
        switch className {
        case "NSAttributeDescription", "NSDerivedAttributeDescription", "NSCompositeAttributeDescription":
            let attribute = try entity.addAttribute(named: name, type: try type(fields, name, entity))
            try describe(attribute, fields)
            property = attribute
        case "NSRelationshipDescription": property = try relationship(named: name, fields, entity)
        case "NSFetchedPropertyDescription":
            let request = archive.fields(fields["NSFetchRequest"]) ?? [:]
            let target = archive.string(fields["_NSFetchRequestEntityName"]) ?? ""
            property = try entity.addFetchedProperty(
                named: name,
                fetchRequest: try template(
                    request, "the fetched property \(entity.name).\(name)", of: entity.name, key: name,
                    entityName: target))
        default: return
        }
        try describe(property, fields)
    }

    func describe(_ property: Property, _ fields: Fields) throws {
        try property.setOptional(fields["NSIsOptional"]?.flag == true)
        if fields["NSIsTransient"]?.flag == true, !(property is FetchedProperty) { try property.setTransient(true) }
        if let modifier = archive.string(fields["NSVersionHashModifier"]) {
            try property.setVersionHashModifier(modifier)
        }
        if let identifier = archive.string(fields["NSRenamingIdentifier"]), identifier != property.name {
            try property.setRenamingIdentifier(identifier)
        }
        if fields["NSIndexedBySpotlight"]?.flag == true { try property.setIndexedBySpotlight(true) }
        for (key, value) in try userInfo(fields) { try property.setUserInfo(value, forKey: key) }
        let rules = try validationRules(of: property, fields)
        if !rules.isEmpty { try property.setValidationRules(rules) }
    }

    private func validationRules(of property: Property, _ fields: Fields) throws -> [ValidationRule] {
        let predicates = archive.elements(fields["NSValidationPredicates"])
        let warnings = archive.elements(fields["NSValidationWarnings"])
        try spend(predicates.count)
        let (entity, key) = (property.entity.name, property.path)
        return try zip(predicates, warnings).compactMap { reference, warning in
            let predicate = try naming("a validation predicate of \(entity).\(key)", entity, key) {
                try archive.predicateText(reference)
            }
            guard let predicate else { return nil }
            let text = archive.string(warning).map { ValidationRule.Warning.text($0) }
            return ValidationRule(
                predicate, warning: text ?? .code(archive.object(warning)?.integer ?? 0))
        }
    }

    private func relationship(named name: String, _ fields: Fields, _ entity: Entity) throws -> Relationship {
        let target =
            archive.string(fields["_NSDestinationEntityName"])
            ?? archive.string(archive.fields(fields["NSDestinationEntity"])?["NSEntityName"])
        guard let target else {
            throw modelError(
                "\(entity.name).\(name) does not have a destination; set one, and compile the model again",
                entity: entity.name, key: name)
        }
        let destination = try required(target, "\(entity.name).\(name) has the destination", entity, key: name)
        let maximum = fields["NSMaxCount"]?.integer ?? 0
        let minimum = max(fields["NSMinCount"]?.integer ?? 0, 0)
        let relationship = try entity.addRelationship(
            named: name, destination: destination, isToMany: maximum != 1,
            isOrdered: maximum != 1 && fields["NSIsOrdered"]?.flag == true)
        // An unlimited maximum is 0, or -1 in models that were built in code. The version hash contains its 32 bits.
        try relationship.setCounts(
            minimum: UInt32(clamping: minimum), maximum: UInt32(bitPattern: Int32(clamping: maximum)))
        if let rule = UInt32(exactly: fields["NSDeleteRule"]?.integer ?? 1).flatMap(DeleteRule.init(rawValue:)) {
            try relationship.setDeleteRule(rule)
        }
        let inverse =
            archive.string(fields["_NSInverseRelationshipName"])
            ?? archive.string(archive.fields(fields["NSInverseRelationship"])?["NSPropertyName"])
        if let inverse { inverses.add(relationship, inverse: inverse) }
        return relationship
    }
}
