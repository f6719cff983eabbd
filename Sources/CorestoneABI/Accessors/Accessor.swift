import CCorestone
import CorestoneModel
import CorestoneValues

/// A C function for one kind of access to one property.
///
/// After the property's model is freed, the code of the function may be reused for another property. A later call by
/// the host then fails or accesses the other property, but never reads freed memory.
protocol Accessor: AnyObject {
    var function: cst_function { get }
}

/// The functions of one property, one for each requested kind. The property owns them.
private final class AccessorsOfProperty {
    var byKind: [AccessorKind: any Accessor] = [:]
}

@_cdecl("cst_entity_accessor") @implementation
public func cst_entity_accessor(
    _ pointer: OpaquePointer?, _ name: cst_string, _ kind: UInt32, _ out: UnsafeMutablePointer<cst_function?>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_function")
        out.pointee = nil
        let entity = try entity(pointer)
        let name = try name.string("property")
        guard let kind = AccessorKind(rawValue: kind) else {
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(name): \(kind) is not an accessor kind; use a CST_ACCESSOR_ constant",
                entity: entity.name, key: name, value: .int(Int64(kind)))
        }
        try entity.model.freeze()
        guard let property = entity.property(named: name) else {
            guard entity.anyProperty(named: name) is FetchedProperty else { return .notFound }
            throw CoreError(
                .invalidArgument,
                "\(entity.name).\(name) is a fetched property, which does not have accessors; "
                    + "read it with cst_object_copy_fetched", entity: entity.name, key: name)
        }
        out.pointee = try naming(entity.name, name) { try partLock.with { try accessor(kind, property).function } }
        return .ok
    }
}

/// Returns the function of a kind for a property, and creates it at the first call.
private func accessor(_ kind: AccessorKind, _ property: Property) throws -> any Accessor {
    let known = property.accessors as? AccessorsOfProperty ?? AccessorsOfProperty()
    property.accessors = known
    if let accessor = known.byKind[kind] { return accessor }
    let signature = try AccessorSignature(kind, property)
    // The primitive getter is the getter itself, because a host cannot override accessors.
    if kind == .getPrimitive { return try accessor(.get, property) }
    let isToMany = (property as? Relationship)?.isToMany == true
    let type = signature.arguments.first ?? signature.result
    let ready = isToMany ? nil : ReadyAccessor(kind, type, key: property.key)
    let made: any Accessor
    if let ready {
        made = ready
    } else {
        made = try naming(property.entity.name, property.name) {
            try ForeignAccessor(kind, signature, isToMany: isToMany, key: property.key)
        }
    }
    known.byKind[kind] = made
    return made
}
