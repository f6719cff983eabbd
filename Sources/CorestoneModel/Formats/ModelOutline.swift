import CorestoneValues

/// What a compiled model says about the shape of its entities: enough to tell how another model differs from it.
public struct ModelOutline: Sendable {
    public struct Property: Sendable, Equatable {
        public enum Kind: Sendable { case attribute, derivedAttribute, relationship, fetchedProperty }

        public var kind: Kind
        public var isOptional: Bool
        public var isTransient: Bool
        public var versionHashModifier: String?
        /// Core Data's code; 0 for what is no attribute.
        public var typeCode: Int64 = 0
        public var allowsExternalStorage = false
        public var preservesValueInHistory = false
        public var destination: String?
        public var inverse: String?
        public var minimumCount: Int64 = 0
        public var maximumCount: Int64 = 0
        public var isOrdered = false
    }

    public struct Entity: Sendable {
        public var isAbstract: Bool
        public var parent: String?
        public var versionHashModifier: String?
        public var uniqueConstraints: [[String]]
        /// Own and inherited ones, by name.
        public var properties: [String: Property]
    }

    public internal(set) var entities: [String: Entity] = [:]
    public internal(set) var versionIdentifiers: [String] = []

    /// - Parameter compiledModel: a `.mom` file, or the expanded `Z_MODELCACHE`.
    /// - Throws: `.storeCorrupt` when the bytes are no compiled model.
    public init(compiledModel bytes: [UInt8]) throws {
        let archive = try KeyedArchiveReader(bytes)
        guard let root = archive.rootFields, root["NSEntities"] != nil else {
            throw CoreError(
                .storeCorrupt, code: .persistentStoreOpen, "the keyed archive holds no managed object model")
        }
        versionIdentifiers = archive.elements(root["NSVersionIdentifiers"]).compactMap { archive.string($0) }
        for (name, reference) in archive.entries(root["NSEntities"]) {
            guard let fields = archive.fields(reference) else { continue }
            entities[name] = Entity(fields, in: archive)
        }
    }
}

extension ModelOutline.Entity {
    init(_ fields: KeyedArchiveReader.Fields, in archive: KeyedArchiveReader) {
        isAbstract = fields["NSIsAbstract"]?.flag ?? false
        parent = archive.string(archive.fields(fields["NSSuperentity"])?["NSEntityName"])
        versionHashModifier = archive.string(fields["NSVersionHashModifier"])
        uniqueConstraints = archive.elements(fields["NSUniqueTuples"]).map { tuple in
            archive.elements(tuple).compactMap {
                archive.string($0) ?? archive.string(archive.fields($0)?["NSPropertyName"])
            }
        }
        properties = [:]
        for (name, reference) in archive.entries(fields["NSProperties"]) {
            // A proxy may stand for an inherited property.
            let property = archive.fields(reference)?["NSUnderlyingProperty"] ?? reference
            properties[name] = ModelOutline.Property(property, in: archive)
        }
    }
}

extension ModelOutline.Property {
    init?(_ reference: PropertyListValue, in archive: KeyedArchiveReader) {
        guard let fields = archive.fields(reference) else { return nil }
        switch archive.className(reference) {
        case "NSAttributeDescription": kind = .attribute
        case "NSDerivedAttributeDescription": kind = .derivedAttribute
        case "NSRelationshipDescription": kind = .relationship
        case "NSFetchedPropertyDescription": kind = .fetchedProperty
        default: return nil
        }
        isOptional = fields["NSIsOptional"]?.flag ?? false
        isTransient = fields["NSIsTransient"]?.flag ?? false
        versionHashModifier = archive.string(fields["NSVersionHashModifier"])
        typeCode = fields["NSAttributeType"]?.integer ?? 0
        let flags = fields["NSFlagsKey"]?.integer ?? 0
        allowsExternalStorage = flags & 4 != 0
        preservesValueInHistory = flags & 16 != 0
        guard kind == .relationship else { return }
        destination =
            archive.string(fields["_NSDestinationEntityName"])
            ?? archive.string(archive.fields(fields["NSDestinationEntity"])?["NSEntityName"])
        inverse =
            archive.string(fields["_NSInverseRelationshipName"])
            ?? archive.string(archive.fields(fields["NSInverseRelationship"])?["NSPropertyName"])
        minimumCount = fields["NSMinCount"]?.integer ?? 0
        maximumCount = fields["NSMaxCount"]?.integer ?? 0
        isOrdered = fields["NSIsOrdered"]?.flag ?? false
    }
}
