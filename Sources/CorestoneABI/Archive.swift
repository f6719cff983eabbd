import CCorestone
import CorestoneModel
import CorestoneValues

@_cdecl("cst_archive_copy_json") @implementation
public func cst_archive_copy_json(
    _ archive: cst_bytes, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        guard let data = archive.data, archive.size >= 0, archive.size < Int(Int32.max) else {
            throw CoreError(.invalidArgument, "the archive is NULL, or larger than 2147483646 bytes")
        }
        let bytes = Array(UnsafeRawBufferPointer(start: data, count: archive.size))
        try out.fill(JSONText(try decodeArchive(bytes)).text)
    }
}
