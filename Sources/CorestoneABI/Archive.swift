import CCorestone
import CorestoneModel
import CorestoneValues

@_cdecl("cst_archive_copy_json") @implementation
public func cst_archive_copy_json(
    _ archive: cst_bytes, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        try out.fill(JSONText(try decodeArchive(try archive.array("archive", limit: Int(Int32.max) - 1))).text)
    }
}

@_cdecl("cst_archive_from_json") @implementation
public func cst_archive_from_json(
    _ json: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_archive")
        guard let text = try json.utf8("json") else {
            throw CoreError(.invalidArgument, "json is NULL; pass a JSON text", key: "json")
        }
        try encodeArchive(try decodeTaggedJSON(Array(text))).withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_archive_register_class") @implementation
public func cst_archive_register_class(
    _ name: cst_string, _ callbacks: UnsafePointer<cst_archive_class_callbacks>?, _ error: ErrorOut
) -> cst_status {
    boundary(error, taking: callbacks, cst_archive_class_callbacks(), { Userdata($0.userdata, $0.destroy) }) {
        given, userdata in
        let name = try name.string("class_name")
        guard given.to_fields != nil, given.from_fields != nil else {
            let missing = given.to_fields == nil ? "to_fields" : "from_fields"
            throw CoreError(
                .invalidArgument,
                "callbacks.\(missing) of the class \"\(name)\" is NULL; set both to_fields and from_fields",
                key: name)
        }
        ArchivableClasses.register(HostClass(name, given, userdata))
    }
}

@_cdecl("cst_archive_unregister_class") @implementation
public func cst_archive_unregister_class(_ name: cst_string, _ error: ErrorOut) -> cst_status {
    outcome(error) { ArchivableClasses.unregister(try name.string("class_name")) ? .ok : .notFound }
}

@_cdecl("cst_archive_copy_class_kinds") @implementation
public func cst_archive_copy_class_kinds(
    _ name: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_kinds")
        guard let kinds = ValueClass.kinds(of: try name.string("class_name")) else { return .notFound }
        try out.fill(kinds)
        return .ok
    }
}

/// A class that a host registered.
///
/// Fields are passed as tagged JSON, which cannot contain pointers. An object of the class is therefore created only
/// for a whole value. Within plain data, such an object is read as its fields.
final class HostClass: HostValueConverter, ArchivableClass, @unchecked Sendable {
    let className: String
    private let callbacks: cst_archive_class_callbacks

    init(_ className: String, _ callbacks: cst_archive_class_callbacks, _ userdata: Userdata) {
        self.className = className
        self.callbacks = callbacks
        super.init(userdata, free: callbacks.free_value)
    }

    func fields(of object: Any) throws -> [String: PropertyValue] {
        guard let object = object as? HostValue, let toFields = callbacks.to_fields else {
            throw CoreError(
                .typeMismatch,
                "the class \"\(className)\" takes only values that the host created; set the value with "
                    + "cst_object_set_transformed", key: className)
        }
        let plain = try filled("to_fields of the class \"\(className)\"", key: className) {
            toFields(userdata.pointer, object.pointer, $0, $1)
        } read: { json in
            try readingResult("to_fields of the class \"\(className)\"", key: className) {
                try decodeTaggedJSON(Array(json))
            }
        }
        if case .dictionary(let fields) = plain { return fields }
        throw CoreError(
            .callback,
            "to_fields of the class \"\(className)\" returned \(plain.kindPhrase); return a JSON object with a key "
                + "for each field",
            key: className, value: plain)
    }

    func object(from fields: [String: PropertyValue]) throws -> Any {
        guard let fromFields = callbacks.from_fields else {
            throw CoreError(
                .internal,
                "the class \"\(className)\" does not have the callback from_fields; report it as a defect of the library",
                key: className)
        }
        var text = JSONText(.dictionary(fields)).text
        return try text.withUTF8 { utf8 in
            try utf8.withMemoryRebound(to: CChar.self) { characters in
                let json = cst_string(data: characters.baseAddress, size: characters.count)
                return try makeValue("from_fields of the class \"\(className)\"", key: className) {
                    fromFields(userdata.pointer, json, $0, $1)
                }
            }
        }
    }

    func member(from fields: [String: PropertyValue]) -> ArchivableObject? { nil }
}
