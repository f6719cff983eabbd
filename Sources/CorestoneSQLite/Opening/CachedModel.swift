import CorestoneModel
import CorestoneValues

/// The model that a store carries (`Z_MODELCACHE`), as far as it tells which property differs from another model.
///
/// A keyed archive from anywhere: whatever is not as expected is left out, never trusted.
struct CachedModel {
    private let objects: [PropertyListValue]
    /// By name.
    private var entities: [String: [String: PropertyListValue]] = [:]

    struct Property: Equatable {
        /// An attribute's type as people know it, or "a relationship to …".
        var kind = ""
        var isOptional = false
        var inverse: String?
        var counts: [Int64] = []
        var isOrdered = false
        var isExternal = false
        var isPreserved = false
        var modifier: String?
    }

    /// nil when the bytes are no compressed model.
    init?(_ content: [UInt8]) {
        guard !content.isEmpty, let archive = try? decodePropertyList(inflateRaw(content)).dictionary,
            let objects = archive["$objects"]?.array, let top = archive["$top"]?.dictionary
        else { return nil }
        self.objects = objects
        guard let root = resolve(top["root"] ?? top.values.first)?.dictionary else { return nil }
        for (name, entity) in table(root["NSEntities"]) { entities[name] = entity.dictionary }
    }

    /// The properties of an entity that a store keeps, inherited ones included; nil for an unknown entity.
    func properties(of entity: String) -> [String: Property]? {
        guard let fields = entities[entity] else { return nil }
        var properties: [String: Property] = [:]
        for (name, value) in table(fields["NSProperties"]) {
            guard var description = value.dictionary else { continue }
            if let original = resolve(description["NSUnderlyingProperty"])?.dictionary { description = original }
            if description["NSIsTransient"]?.flag == true { continue }
            properties[name] = property(description)
        }
        return properties
    }

    func isAbstract(_ entity: String) -> Bool { entities[entity]?["NSIsAbstract"]?.flag == true }

    func parent(of entity: String) -> String? {
        text(resolve(entities[entity]?["NSSuperentity"])?.dictionary?["NSEntityName"])
    }

    /// nil for what is neither attribute nor relationship.
    private func property(_ fields: [String: PropertyListValue]) -> Property? {
        var property = Property()
        property.isOptional = fields["NSIsOptional"]?.flag == true
        property.modifier = text(fields["NSVersionHashModifier"])
        if let type = fields["NSAttributeType"]?.integer {
            property.kind = CachedModel.kind(type)
            let flags = fields["NSFlagsKey"]?.integer ?? 0
            property.isExternal = flags & 4 != 0
            property.isPreserved = flags & 16 != 0
            return property
        }
        let destination =
            text(fields["_NSDestinationEntityName"])
            ?? text(resolve(fields["NSDestinationEntity"])?.dictionary?["NSEntityName"])
        guard let destination else { return nil }
        property.kind = "a relationship to \(destination)"
        property.inverse = text(fields["_NSInverseRelationshipName"])
        property.counts = [fields["NSMinCount"]?.integer ?? 0, max(fields["NSMaxCount"]?.integer ?? 0, 0)]
        property.isOrdered = fields["NSIsOrdered"]?.flag == true
        return property
    }

    private static func kind(_ code: Int64) -> String {
        Int32(exactly: code).flatMap { AttributeType(rawValue: $0) }?.displayName ?? "of type \(code)"
    }
}

// MARK: - The archive

extension CachedModel {
    private func resolve(_ value: PropertyListValue?) -> PropertyListValue? {
        guard let reference = value?.reference else { return value }
        return reference > 0 && Int(reference) < objects.count ? objects[Int(reference)] : nil
    }

    private func text(_ value: PropertyListValue?) -> String? {
        let value = resolve(value)
        return value?.string ?? resolve(value?.dictionary?["NS.string"])?.string
    }

    /// The entries of either kind of archived dictionary.
    private func table(_ value: PropertyListValue?) -> [String: PropertyListValue] {
        guard let fields = resolve(value)?.dictionary else { return [:] }
        let keys: [PropertyListValue]
        let values: [PropertyListValue]
        if let mapping = resolve(fields["searchMapping"])?.dictionary {
            keys = list(mapping["keys"])
            values = list(fields["values"])
        } else {
            keys = fields["NS.keys"]?.array ?? []
            values = fields["NS.objects"]?.array ?? []
        }
        var table: [String: PropertyListValue] = [:]
        for (key, value) in zip(keys, values) {
            if let name = text(key), let value = resolve(value) { table[name] = value }
        }
        return table
    }

    private func list(_ value: PropertyListValue?) -> [PropertyListValue] {
        let value = resolve(value)
        return value?.array ?? value?.dictionary?["NS.objects"]?.array ?? []
    }
}

// MARK: - Comparing

extension CachedModel {
    /// What first tells the stored form of an entity from the model's: the property's name, when it is one, and words
    /// for it.
    func difference(from entity: Entity) -> (key: String?, text: String)? {
        guard let stored = properties(of: entity.name) else { return nil }
        var wanted: [String: Property] = [:]
        for property in entity.properties where !property.isTransient { wanted[property.name] = Property(property) }
        for name in Set(stored.keys).union(wanted.keys).sorted(by: byteOrder) {
            let label = "\(entity.name).\(name)"
            guard let theirs = stored[name] else { return (name, "the store lacks \(label), which the model has") }
            guard let ours = wanted[name] else { return (name, "the store has \(label), which the model lacks") }
            if let text = theirs.difference(from: ours) { return (name, "\(label) is \(text)") }
        }
        if isAbstract(entity.name) != entity.isAbstract {
            return (nil, "\(entity.name) is \(entity.isAbstract ? "not " : "")abstract in the store")
        }
        if parent(of: entity.name) != entity.parent?.name {
            return (nil, "\(entity.name) inherits from \(parent(of: entity.name) ?? "no entity") in the store")
        }
        return nil
    }
}

extension CachedModel.Property {
    fileprivate init(_ property: CorestoneModel.Property) {
        isOptional = property.isOptional
        modifier = property.versionHashModifier
        if let attribute = property as? Attribute {
            kind = attribute.type.displayName
            isExternal = attribute.allowsExternalStorage
            isPreserved = attribute.preservesValueInHistory
        } else if let relationship = property as? Relationship {
            kind = "a relationship to \(relationship.destination.name)"
            inverse = relationship.inverse?.name
            counts = [Int64(relationship.minimumCount), Int64(relationship.maximumCount)]
            isOrdered = relationship.isOrdered
        }
    }

    /// How the stored property (`self`) differs from the model's, in words that follow "is".
    fileprivate func difference(from model: CachedModel.Property) -> String? {
        if kind != model.kind { return "\(kind) in the store and \(model.kind) in the model" }
        if isOptional != model.isOptional {
            return isOptional
                ? "optional in the store and required in the model" : "required in the store and optional in the model"
        }
        if counts != model.counts {
            func words(_ counts: [Int64]) -> String {
                counts.last == 1 ? "to-one" : "to-many (\(counts.map(String.init).joined(separator: " to ")))"
            }
            return "\(words(counts)) in the store and \(words(model.counts)) in the model"
        }
        if isOrdered != model.isOrdered {
            return isOrdered ? "ordered in the store only" : "ordered in the model only"
        }
        if inverse != model.inverse {
            return
                "the inverse of \(inverse ?? "nothing") in the store and of \(model.inverse ?? "nothing") in the model"
        }
        if isExternal != model.isExternal { return "kept in files of its own on one side only" }
        if isPreserved != model.isPreserved { return "kept in the history on one side only" }
        if modifier != model.modifier { return "marked with another version hash modifier" }
        return nil
    }
}
