import CCorestone
import CorestoneMigration
import CorestoneModel
import CorestoneValues

func mappingModel(_ pointer: OpaquePointer?) throws -> MappingModel { try resolve(pointer, .mappingModel) }

private func optionalModel(_ pointer: OpaquePointer?) throws -> Model? { try pointer.map { try model($0) } }

/// Returns a model that the host cannot change: the model itself if it is frozen, otherwise a copy.
private func frozenCopy(_ model: Model) throws -> Model { model.isFrozen ? model : try model.copy() }

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

@_cdecl("cst_mapping_model_new_from_json") @implementation
public func cst_mapping_model_new_from_json(
    _ json: cst_string, _ source: OpaquePointer?, _ destination: OpaquePointer?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_mapping")
        let mapping = try MappingModel(
            json: try json.string("json"), source: try optionalModel(source).map(frozenCopy),
            destination: try optionalModel(destination).map(frozenCopy))
        out.pointee = try HandleTable.make(mapping, .mappingModel)
    }
}

@_cdecl("cst_mapping_model_new_inferred") @implementation
public func cst_mapping_model_new_inferred(
    _ source: OpaquePointer?, _ destination: OpaquePointer?, _ flags: UInt32,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_mapping")
        let known = UInt32(CST_MAPPING_ALLOW_TYPE_CHANGES)
        guard flags & ~known == 0 else {
            throw CoreError(
                .invalidArgument,
                "flags is 0x\(String(flags, radix: 16)); use only CST_MAPPING_ALLOW_TYPE_CHANGES",
                key: "flags", value: .int(Int64(flags)))
        }
        let mapping = try MappingModel(
            inferredFrom: try model(source), to: try model(destination),
            typeChanges: flags & known == 0 ? .refused : .exact)
        out.pointee = try HandleTable.make(mapping, .mappingModel)
    }
}

@_cdecl("cst_mapping_model_validate") @implementation
public func cst_mapping_model_validate(
    _ pointer: OpaquePointer?, _ source: OpaquePointer?, _ destination: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        try mappingModel(pointer).validate(
            source: try optionalModel(source), destination: try optionalModel(destination))
    }
}

@_cdecl("cst_mapping_model_matches") @implementation
public func cst_mapping_model_matches(
    _ pointer: OpaquePointer?, _ source: OpaquePointer?, _ destination: OpaquePointer?,
    _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_matches")
        out.pointee = try mappingModel(pointer).matches(source: try model(source), destination: try model(destination))
    }
}

@_cdecl("cst_mapping_model_find") @implementation
public func cst_mapping_model_find(
    _ paths: UnsafePointer<cst_string>?, _ count: Int, _ source: OpaquePointer?, _ destination: OpaquePointer?,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_mapping")
        let found = MappingModel.find(
            in: try filePaths(paths, count, "paths"), from: try model(source), to: try model(destination))
        guard let found else { return .notFound }
        out.pointee = try HandleTable.make(found, .mappingModel)
        return .ok
    }
}

@_cdecl("cst_mapping_model_write") @implementation
public func cst_mapping_model_write(_ pointer: OpaquePointer?, _ path: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) { try mappingModel(pointer).write(to: try path.filePath("path")) }
}

@_cdecl("cst_mapping_model_copy_json") @implementation
public func cst_mapping_model_copy_json(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_json").fill(try mappingModel(pointer).json) }
}

@_cdecl("cst_mapping_model_source") @implementation
public func cst_mapping_model_source(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    putModel(pointer, out, error) { $0.sourceModel }
}

@_cdecl("cst_mapping_model_destination") @implementation
public func cst_mapping_model_destination(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    putModel(pointer, out, error) { $0.destinationModel }
}

/// Writes a handle of a copy of a mapping model's model.
///
/// The model is copied because any thread may use the mapping model, but only one thread may use a model that is not
/// frozen.
private func putModel(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut,
    _ model: (MappingModel) -> Model?
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_model")
        guard let model = model(try mappingModel(pointer)) else { return .notFound }
        out.pointee = try ownedHandle(try model.copy())
        return .ok
    }
}
