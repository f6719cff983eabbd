import CCorestone
import CorestoneModel
import CorestoneValues

@_cdecl("cst_model_new_from_text") @implementation
public func cst_model_new_from_text(
    _ text: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = try ownedHandle(try Model(text: try text.string("text")))
    }
}

@_cdecl("cst_model_add_text") @implementation
public func cst_model_add_text(
    _ pointer: OpaquePointer?, _ text: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try model(pointer) }) {
        let missing = try model(pointer).add(text: try text.string("text"), allowsMissing: out != nil)
        guard let out else { return }
        let output = missing.map { end in
            PropertyValue.dictionary([
                "entity": .string(end.relationship.entity.name), "key": .string(end.relationship.name),
                "destination": .string(end.destination), "inverse": end.inverse.map { .string($0) } ?? .null,
            ])
        }
        try out.fill(JSONText(.array(output)).text)
    }
}
