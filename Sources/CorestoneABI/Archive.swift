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
        guard let text = try json.utf8("json") else { throw CoreError(.invalidArgument, "json is a null string") }
        try encodeArchive(try decodeTaggedJSON(Array(text))).withUnsafeBytes { try out.fill($0) }
    }
}
