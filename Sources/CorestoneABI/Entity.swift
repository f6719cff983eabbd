import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

func entity(_ pointer: OpaquePointer?) throws -> Entity {
    let entity: Entity = try resolve(pointer, .entity)
    if entity.isRemoved { throw removed(.entity, entity.name) }
    return entity
}

@_cdecl("cst_entity_name") @implementation
public func cst_entity_name(_ pointer: OpaquePointer?) -> cst_string { cst_string((try? entity(pointer))?.nameText) }

@_cdecl("cst_entity_localized_name") @implementation
public func cst_entity_localized_name(_ pointer: OpaquePointer?) -> cst_string {
    cst_string((try? entity(pointer))?.localizedText)
}

@_cdecl("cst_entity_localized_property_name") @implementation
public func cst_entity_localized_property_name(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_text")
        out.pointee = .null
        let entity = try entity(pointer)
        guard let property = entity.property(named: try name.string("property")) else { return .notFound }
        out.pointee = cst_string(property.localizedText(in: entity))
        return .ok
    }
}

@_cdecl("cst_entity_set_parent") @implementation
public func cst_entity_set_parent(_ pointer: OpaquePointer?, _ parent: OpaquePointer?, _ error: ErrorOut) -> cst_status
{
    building(error, { try entity(pointer).model }) { try entity(pointer).setParent(try parent.map { try entity($0) }) }
}

@_cdecl("cst_entity_parent") @implementation
public func cst_entity_parent(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_parent")
        guard let parent = try entity(pointer).parent else { return .notFound }
        out.pointee = try borrowedHandle(parent)
        return .ok
    }
}

@_cdecl("cst_entity_child_at") @implementation
public func cst_entity_child_at(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_child")
        let children = try entity(pointer).children
        guard children.indices.contains(index) else { return .end }
        out.pointee = try borrowedHandle(children[index])
        return .ok
    }
}

@_cdecl("cst_entity_is_kind_of") @implementation
public func cst_entity_is_kind_of(
    _ pointer: OpaquePointer?, _ other: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_kind")
        out.pointee = try entity(pointer).isKind(of: try entity(other))
    }
}

@_cdecl("cst_entity_set_abstract") @implementation
public func cst_entity_set_abstract(_ pointer: OpaquePointer?, _ isAbstract: Bool, _ error: ErrorOut) -> cst_status {
    building(error, { try entity(pointer).model }) { try entity(pointer).setAbstract(isAbstract) }
}

@_cdecl("cst_entity_is_abstract") @implementation
public func cst_entity_is_abstract(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_abstract").pointee = try entity(pointer).isAbstract }
}

@_cdecl("cst_entity_set_class_name") @implementation
public func cst_entity_set_class_name(_ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut) -> cst_status {
    building(error, { try entity(pointer).model }) { try entity(pointer).setClassName(try name.optionalString("name")) }
}

@_cdecl("cst_entity_set_user_info") @implementation
public func cst_entity_set_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ value: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        try entity(pointer).setUserInfo(try value.optionalString("value"), forKey: try key.string("key"))
    }
}

@_cdecl("cst_entity_user_info") @implementation
public func cst_entity_user_info(
    _ pointer: OpaquePointer?, _ key: cst_string, _ out: UnsafeMutablePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        out.pointee = .null
        let entity = try entity(pointer)
        guard let text = entity.userInfoText(try key.string("key")) else { return .notFound }
        out.pointee = cst_string(text)
        return .ok
    }
}

@_cdecl("cst_entity_set_version_hash_modifier") @implementation
public func cst_entity_set_version_hash_modifier(
    _ pointer: OpaquePointer?, _ modifier: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        try entity(pointer).setVersionHashModifier(try modifier.optionalString("modifier"))
    }
}

@_cdecl("cst_entity_add_index") @implementation
public func cst_entity_add_index(
    _ pointer: OpaquePointer?, _ name: cst_string, _ count: Int, _ properties: UnsafePointer<cst_string>?,
    _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        let entity = try entity(pointer)
        let elements = try strings(properties, count, "properties").map { FetchIndex.Element(property: $0) }
        try entity.addIndex(FetchIndex(name: try name.string("name"), elements: elements))
    }
}

@_cdecl("cst_entity_add_fetch_index") @implementation
public func cst_entity_add_fetch_index(
    _ pointer: OpaquePointer?, _ name: cst_string, _ count: Int, _ elements: UnsafePointer<cst_index_element>?,
    _ predicate: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        let entity = try entity(pointer)
        let name = try name.string("name")
        let elements = try array(elements, count, "elements").enumerated().map {
            try indexElement($1, place: $0, index: name, of: entity.name)
        }
        let condition = try predicate.map { PredicateText(try predicateBox($0).predicate) }
        try entity.addIndex(FetchIndex(name: name, elements: elements, partialPredicate: condition))
    }
}

private func indexElement(
    _ element: cst_index_element, place: Int, index: String, of entity: String
) throws -> FetchIndex.Element {
    let shown = "element \(place + 1) of the index \"\(index)\" of \(entity)"
    let (descending, rTree) = (UInt32(CST_INDEX_DESCENDING), UInt32(CST_INDEX_RTREE))
    guard element.flags & ~(descending | rTree) == 0 else {
        throw CoreError(
            .invalidArgument,
            "\(shown) has flags 0x\(String(element.flags, radix: 16)); use only CST_INDEX_DESCENDING and "
                + "CST_INDEX_RTREE", entity: entity, key: index, value: .int(Int64(element.flags)))
    }
    let collation: FetchIndex.Collation = element.flags & rTree == 0 ? .binary : .rTree
    let isAscending = element.flags & descending == 0
    let (property, expression) = (
        try element.property.optionalString("property"), try element.expression.optionalString("expression")
    )
    switch (property, expression) {
    case (let property?, nil):
        return FetchIndex.Element(property: property, collation: collation, isAscending: isAscending)
    case (nil, let expression?):
        let text = ExpressionText(expression)
        do { _ = try text.required() } catch let error as CoreError {
            throw error.within(shown, entity: entity, key: index)
        }
        guard let type = AttributeType(rawValue: element.type) else {
            throw CoreError(
                .invalidArgument, "\(shown): \(element.type) is not an attribute type; use a CST_ATTRIBUTE_ constant",
                entity: entity, key: index, value: .int(Int64(element.type)))
        }
        return FetchIndex.Element(
            expression: text, named: "expression\(place + 1)", type: type, collation: collation,
            isAscending: isAscending)
    default:
        let found = property == nil ? "neither a property nor an expression" : "both a property and an expression"
        throw CoreError(
            .invalidArgument, "\(shown) has \(found), but must have exactly one of them", entity: entity, key: index)
    }
}

@_cdecl("cst_entity_add_unique_constraint") @implementation
public func cst_entity_add_unique_constraint(
    _ pointer: OpaquePointer?, _ count: Int, _ attributes: UnsafePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        try entity(pointer).addUniqueConstraint(try strings(attributes, count, "attributes"))
    }
}

@_cdecl("cst_entity_version_hash") @implementation
public func cst_entity_version_hash(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<UInt8>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_hash")
        let entity = try entity(pointer)
        try entity.model.freeze()
        guard let hash = entityVersionHashes(of: entity.model)[entity.name], hash.count == 32 else {
            throw CoreError(
                .internal, "cannot compute the version hash of \(entity.name); report it as a defect of the library",
                entity: entity.name)
        }
        for (place, byte) in hash.enumerated() { out[place] = byte }
    }
}

@_cdecl("cst_entity_property_version_hash") @implementation
public func cst_entity_property_version_hash(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<UInt8>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_hash")
        let entity = try entity(pointer)
        let name = try name.string("name")
        try entity.model.freeze()
        guard let property = entity.property(named: name), !property.isTransient else { return .notFound }
        for (place, byte) in property.versionHash.enumerated() { out[place] = byte }
        return .ok
    }
}

@_cdecl("cst_entity_add_attribute") @implementation
public func cst_entity_add_attribute(
    _ pointer: OpaquePointer?, _ name: cst_string, _ type: cst_attribute_type, _ flags: UInt32,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        out?.pointee = nil
        let entity = try entity(pointer)
        let name = try name.string("name")
        let type = try attributeType(type, of: entity.name, name)
        let flags = try PropertyFlags(checking: flags, allowed: .attributes, entity.name, name)
        let attribute = try entity.addAttribute(named: name, type: type)
        try flags.apply(to: attribute, .attributes)
        out?.pointee = try borrowedHandle(attribute)
    }
}

@_cdecl("cst_entity_add_relationship") @implementation
public func cst_entity_add_relationship(
    _ pointer: OpaquePointer?, _ name: cst_string, _ destination: OpaquePointer?, _ flags: UInt32,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try entity(pointer).model }) {
        out?.pointee = nil
        let entity = try entity(pointer)
        let destination = try CorestoneABI.entity(destination)
        let name = try name.string("name")
        let flags = try PropertyFlags(checking: flags, allowed: .relationships, entity.name, name)
        let relationship = try entity.addRelationship(named: name, destination: destination)
        try flags.apply(to: relationship, .relationships)
        out?.pointee = try borrowedHandle(relationship)
    }
}

@_cdecl("cst_entity_property_count") @implementation
public func cst_entity_property_count(_ pointer: OpaquePointer?) -> Int {
    guard let entity = try? entity(pointer) else { return 0 }
    return entity.allProperties.count + entity.fetchedProperties.count
}

@_cdecl("cst_entity_property_at") @implementation
public func cst_entity_property_at(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<cst_property_info>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try sized(out, "out_info")
        let entity = try entity(pointer)
        let properties = entity.allProperties + entity.fetchedProperties
        guard properties.indices.contains(index) else { return .end }
        out.fill(try propertyInfo(properties[index], isFrozen: entity.model.isFrozen))
        return .ok
    }
}

func propertyInfo(_ property: Property, isFrozen: Bool) throws -> cst_property_info {
    var flags: PropertyFlags = []
    if property.isOptional { flags.insert(.optional) }
    if property.isTransient { flags.insert(.transient) }
    if property.isIndexedBySpotlight { flags.insert(.spotlight) }
    if property.isStoredInExternalRecord { flags.insert(.externalRecord) }
    var info = cst_property_info()
    info.entity = try borrowedHandle(property.entity)
    info.name = cst_string(property.nameText)
    info.key = isFrozen && !(property is FetchedProperty) ? property.key : UInt32.max
    info.inverse = .null
    if let attribute = property as? Attribute {
        info.kind = UInt32(CST_PROPERTY_ATTRIBUTE)
        info.attribute_type = attribute.type.rawValue
        if attribute.allowsExternalStorage { flags.insert(.externalStorage) }
        if attribute.preservesValueInHistory { flags.insert(.preserved) }
        if attribute.allowsNaN { flags.insert(.allowsNaN) }
        if attribute.ignoresChanges { flags.insert(.ignoresChanges) }
        if attribute.allowsCloudEncryption { flags.insert(.cloudEncryption) }
        if attribute.derivation != nil { flags.insert(.derived) }
        if attribute.hasOwnIndex { flags.insert(.indexed) }
    } else if let relationship = property as? Relationship {
        info.kind = UInt32(CST_PROPERTY_RELATIONSHIP)
        info.destination = try borrowedHandle(relationship.destination)
        info.inverse = cst_string(relationship.inverse?.nameText)
        info.delete_rule = relationship.deleteRule.rawValue
        info.minimum_count = relationship.minimumCount
        info.maximum_count = relationship.maximumCount
        if relationship.isToMany { flags.insert(.toMany) }
        if relationship.isOrdered { flags.insert(.ordered) }
    }
    if let fetched = property as? FetchedProperty {
        info.kind = UInt32(CST_PROPERTY_FETCHED)
        info.destination = try fetched.entity.model.entity(named: fetched.fetchRequest.entityName).flatMap {
            try borrowedHandle($0)
        }
        flags.insert(.toMany)
    }
    info.flags = flags.rawValue
    return info
}

@_cdecl("cst_entity_key") @implementation
public func cst_entity_key(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<cst_key>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_key")
        out.pointee = UInt32.max
        let entity = try entity(pointer)
        let name = try name.string("property")
        try entity.model.freeze()
        guard let property = entity.property(named: name) else { return .notFound }
        out.pointee = property.key
        return .ok
    }
}
