import CorestoneFormats
import CorestoneValues

/// Returns the version hash of every entity, 32 bytes each, by name (hashes version 3).
///
/// Models with equal version hashes can use the same store. The model does not have to be frozen.
public func entityVersionHashes(of model: Model) -> [String: [UInt8]] {
    var known: [ObjectIdentifier: [UInt8]] = [:]
    func hash(_ entity: Entity) -> [UInt8] {
        if let hash = known[ObjectIdentifier(entity)] { return hash }
        let hash = versionHash(of: entity, parent: entity.parent.map(hash))
        known[ObjectIdentifier(entity)] = hash
        return hash
    }
    return Dictionary(model.entities.map { ($0.name, hash($0)) }, uniquingKeysWith: { first, _ in first })
}

/// Returns `NSStoreModelVersionHashesDigest`: a digest of the hashes of all entities and their names.
public func modelVersionDigest(_ hashes: [String: [UInt8]]) -> String {
    base64(sha512(sortedByBytes(hashes.keys).flatMap { Array($0.utf8) + (hashes[$0] ?? []) }))
}

/// Returns `NSStoreModelVersionChecksumKey`: a checksum of the hashes alone.
public func modelVersionChecksum(_ hashes: [String: [UInt8]]) -> String {
    base64(sha256(sortedByBytes(hashes.keys).flatMap { hashes[$0] ?? [] }))
}

private func versionHash(of entity: Entity, parent: [UInt8]?) -> [UInt8] {
    var bytes = Array(entity.name.utf8)
    bytes.append(entity.isAbstract ? 1 : 0)
    bytes += parent ?? []
    let properties = entity.allProperties.filter { !$0.isTransient }
    for property in properties.sorted(by: { Text($0.name) < Text($1.name) }) { bytes += versionHash(of: property) }
    bytes += Array((entity.versionHashModifier ?? "").utf8)
    for constraint in sortedByBytes(entity.uniqueConstraints.map { $0.joined(separator: ".") }) {
        bytes += Array(constraint.utf8)
    }
    return sha256(bytes)
}

/// Returns the digest of a property, which is part of the entity's hash.
func versionHash(of property: Property) -> [UInt8] {
    if let derivation = (property as? Attribute)?.derivation { return sha256(Array(derivation.expression.text.utf8)) }
    let modifier = Array((property.versionHashModifier ?? "").utf8)
    var bytes = sha256(Array(property.name.utf8) + [property.isOptional ? 1 : 0, 0] + modifier)
    if let attribute = property as? Attribute {
        bytes += int32(attribute.type.rawValue)
        if attribute.allowsExternalStorage { bytes.append(1) }
        if attribute.preservesValueInHistory { bytes.append(1) }
        // The hash of composite attributes is not confirmed by any known file. Elements are hashed like the properties
        // of an entity.
        for element in attribute.elements { bytes += versionHash(of: element) }
    } else if let relationship = property as? Relationship {
        bytes += Array(relationship.destination.name.utf8)
        // An inverse of the same name is omitted, as in the known hashes of relationships that are their own inverses.
        if let inverse = relationship.inverse, inverse.name != relationship.name { bytes += Array(inverse.name.utf8) }
        bytes +=
            int32(Int32(bitPattern: relationship.maximumCount)) + int32(Int32(bitPattern: relationship.minimumCount))
        if relationship.isOrdered { bytes += [1, 0] }
    }
    return sha256(bytes)
}

private func int32(_ value: Int32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
