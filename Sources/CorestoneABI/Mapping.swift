import CCorestone
import CorestoneMigration
import CorestoneModel
import CorestoneValues

private func mappingModel(_ pointer: OpaquePointer?) throws -> MappingModel { try resolve(pointer, .mappingModel) }

@_cdecl("cst_mapping_model_load") @implementation
public func cst_mapping_model_load(
    _ path: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_mapping")
        out.pointee = try HandleTable.make(MappingModel(contentsOf: try path.filePath("path")), .mappingModel)
    }
}

@_cdecl("cst_mapping_model_load_bytes") @implementation
public func cst_mapping_model_load_bytes(
    _ content: cst_bytes, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_mapping")
        let bytes = try content.array("content", limit: Model.maximumFileSize)
        out.pointee = try HandleTable.make(MappingModel(data: bytes), .mappingModel)
    }
}

@_cdecl("cst_mapping_model_copy_json") @implementation
public func cst_mapping_model_copy_json(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_json").fill(JSONText(try mappingModel(pointer).summary).text) }
}

@_cdecl("cst_mapping_model_source") @implementation
public func cst_mapping_model_source(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    handOver(pointer, out, error) { $0.sourceModel }
}

@_cdecl("cst_mapping_model_destination") @implementation
public func cst_mapping_model_destination(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    handOver(pointer, out, error) { $0.destinationModel }
}

/// A copy, since the mapping model belongs to every thread and a model that is not frozen to one.
private func handOver(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut,
    _ model: (MappingModel) -> Model?
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_model")
        guard let model = model(try mappingModel(pointer)) else { return .notFound }
        out.pointee = try handOver(try model.copy())
        return .ok
    }
}
