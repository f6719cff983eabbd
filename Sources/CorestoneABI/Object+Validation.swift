import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_object_validate") @implementation
public func cst_object_validate(_ pointer: OpaquePointer?, _ purpose: UInt32, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let object = try object(pointer)
        let flag = UInt32(CST_VALIDATE_WITHOUT_HOOK)
        guard let reason = ValidationPurpose(rawValue: purpose & ~flag) else {
            throw CoreError(
                .invalidArgument,
                "\(purpose) is not a validation purpose; use CST_VALIDATE_INSERT, CST_VALIDATE_UPDATE or "
                    + "CST_VALIDATE_DELETE, with or without CST_VALIDATE_WITHOUT_HOOK",
                entity: object.entity.name, key: "purpose", value: .int(Int64(purpose)), objectURI: object.objectID.uri)
        }
        try object.validate(for: reason, asksHook: purpose & flag == 0)
    }
}

@_cdecl("cst_object_validate_value") @implementation
public func cst_object_validate_value(
    _ pointer: OpaquePointer?, _ key: cst_key, _ value: UnsafePointer<cst_value>?,
    _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let given = value?.pointee
        if let out { putNull(out) }
        let object = try object(pointer)
        let property = object.entity.properties[try object.slot(of: key)]
        guard let given else {
            throw CoreError(
                .invalidArgument,
                "value is NULL for \(object.entity.name).\(property.path); pass a value of type CST_NULL to validate null",
                entity: object.entity.name, key: property.path, objectURI: object.objectID.uri)
        }
        let proposed = try naming(object.entity.name, property.path) { try propertyValue(given) }
        let accepted = try object.validateValue(proposed, forKey: property.path)
        guard let out else { return }
        switch accepted {
        // The bytes or the handle of a value by which a validator replaced the proposed one are kept with the object.
        case _ where accepted.pointsOutside && !accepted.isWritten(as: proposed):
            try ComputedValueCache.of(object).put(
                accepted, "validated " + property.path,
                of: ComputedValueCache.Source(
                    entity: object.entity.name, key: property.path, objectURI: object.objectID.uri), out)
        // Text, bytes and handles remain those that the host passed.
        case .text, .bytes, .object: out.pointee = given
        case .uri:
            out.pointee = given
            out.pointee.type = cst_type(CST_URI)
        default: put(ValueView(accepted), out)
        }
    }
}

extension PropertyValue {
    fileprivate var pointsOutside: Bool {
        switch self {
        case .text, .uri, .bytes, .object: true
        default: false
        }
    }

    /// Whether the bytes that the host passed represent the value: a string may be passed for a URI.
    fileprivate func isWritten(as proposed: PropertyValue) -> Bool {
        if case (.uri(let uri), .text(let text)) = (self, proposed) { return uri == text }
        return self == proposed
    }
}
