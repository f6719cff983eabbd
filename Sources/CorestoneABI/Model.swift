import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneSQLite
import CorestoneContainers
import CorestoneValues

func model(_ pointer: OpaquePointer?) throws -> Model { try resolve(pointer, .model) }

@_cdecl("cst_model_new") @implementation
public func cst_model_new(_ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = try ownedHandle(Model())
    }
}

/// Creates the first handle of a model. The caller owns the handle.
func ownedHandle(_ model: Model) throws -> OpaquePointer? {
    model.atEnd = withdrawTokens
    return try HandleTable.make(model, .model)
}

@_cdecl("cst_model_set_localization") @implementation
public func cst_model_set_localization(
    _ pointer: OpaquePointer?, _ key: cst_string, _ text: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try model(pointer) }) {
        try model(pointer).setLocalization(try text.optionalString("text"), forKey: try key.string("key"))
    }
}

@_cdecl("cst_model_localization") @implementation
public func cst_model_localization(
    _ pointer: OpaquePointer?, _ key: cst_string, _ out: UnsafeMutablePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_text")
        out.pointee = .null
        guard let text = try model(pointer).localizationText(try key.string("key")) else { return .notFound }
        out.pointee = cst_string(text)
        return .ok
    }
}

@_cdecl("cst_model_load") @implementation
public func cst_model_load(
    _ path: cst_string, _ version: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = try ownedHandle(
            try Model(contentsOf: try path.filePath("path"), version: try version.optionalString("version")))
    }
}

@_cdecl("cst_model_load_draft") @implementation
public func cst_model_load_draft(
    _ path: cst_string, _ version: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ problems: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        let problems = try required(problems, "out_problems")
        let model = try Model(draftAt: try path.filePath("path"), version: try version.optionalString("version"))
        let output = model.draftProblems.map { problem in
            PropertyValue.dictionary([
                "entity": problem.entity.map { .string($0) } ?? .null, "key": problem.key.map { .string($0) } ?? .null,
                "message": .string(problem.message),
            ])
        }
        try problems.fill(JSONText(.array(output)).text)
        out.pointee = try ownedHandle(model)
    }
}

@_cdecl("cst_model_load_for_store") @implementation
public func cst_model_load_for_store(
    _ path: cst_string, _ store: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = try ownedHandle(
            try Model.load(try path.filePath("path"), forStoreAt: try store.filePath("store_path")))
    }
}

@_cdecl("cst_model_version_name") @implementation
public func cst_model_version_name(_ pointer: OpaquePointer?) -> cst_string {
    cst_string((try? model(pointer))?.versionNameText)
}

@_cdecl("cst_model_load_bytes") @implementation
public func cst_model_load_bytes(
    _ content: cst_bytes, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = try ownedHandle(try Model(data: try content.array("content", limit: Model.maximumFileSize)))
    }
}

@_cdecl("cst_model_copy") @implementation
public func cst_model_copy(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        out.pointee = try ownedHandle(try model(pointer).copy())
    }
}

@_cdecl("cst_model_merge") @implementation
public func cst_model_merge(
    _ count: Int, _ models: UnsafePointer<OpaquePointer?>?, _ storePath: cst_string,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        let models = try array(models, count, "models").map { try model($0) }
        guard try storePath.optionalString("store_path") != nil else {
            out.pointee = try ownedHandle(try Model.merging(models))
            return
        }
        let store = try storePath.filePath("store_path")
        let metadata = try StoreMetadata(ofStoreAt: store)
        out.pointee = try ownedHandle(
            try Model.merging(models, forHashes: metadata.entityVersionHashes, ofStoreAt: store))
    }
}

@_cdecl("cst_model_copy_versions") @implementation
public func cst_model_copy_versions(
    _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ count: UnsafeMutablePointer<Int>?,
    _ current: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let versions = try Model.versions(of: try path.filePath("path"))
        current?.pointee = versions.firstIndex(where: \.isCurrent) ?? versions.count
        try list(versions.map(\.name), out, count)
    }
}

@_cdecl("cst_model_add_entity") @implementation
public func cst_model_add_entity(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    building(error, { try model(pointer) }) {
        let out = try place(out, "out_entity")
        out.pointee = try borrowedHandle(try model(pointer).addEntity(named: try name.string("name")))
    }
}

@_cdecl("cst_model_freeze") @implementation
public func cst_model_freeze(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { try model(pointer).freeze() }
}

@_cdecl("cst_model_is_frozen") @implementation
public func cst_model_is_frozen(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let model = try model(pointer)
        // A draft with problems is immutable, but is reported as not frozen: like a model that is not frozen, it cannot
        // be used for a store.
        try required(out, "out_frozen").pointee = model.isFrozen && model.draftProblems.isEmpty
    }
}

@_cdecl("cst_model_add_version_identifier") @implementation
public func cst_model_add_version_identifier(
    _ pointer: OpaquePointer?, _ identifier: cst_string, _ error: ErrorOut
) -> cst_status {
    building(error, { try model(pointer) }) {
        try model(pointer).addVersionIdentifier(try identifier.string("identifier"))
    }
}

@_cdecl("cst_model_remove_version_identifier") @implementation
public func cst_model_remove_version_identifier(
    _ pointer: OpaquePointer?, _ identifier: cst_string, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        try model(pointer).removeVersionIdentifier(try identifier.string("identifier")) ? .ok : .notFound
    }
}

@_cdecl("cst_model_entity_count") @implementation
public func cst_model_entity_count(_ pointer: OpaquePointer?) -> Int { (try? model(pointer).entities.count) ?? 0 }

@_cdecl("cst_model_entity_at") @implementation
public func cst_model_entity_at(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_entity")
        let entities = try model(pointer).entities
        guard entities.indices.contains(index) else { return .end }
        out.pointee = try borrowedHandle(entities[index])
        return .ok
    }
}

@_cdecl("cst_model_entity") @implementation
public func cst_model_entity(
    _ pointer: OpaquePointer?, _ name: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_entity")
        guard let entity = try model(pointer).entity(named: try name.string("name")) else { return .notFound }
        out.pointee = try borrowedHandle(entity)
        return .ok
    }
}

@_cdecl("cst_model_copy_compiled") @implementation
public func cst_model_copy_compiled(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_bytes")
        let model = try model(pointer)
        try model.freeze()
        try compiledModel(model).withUnsafeBytes { try out.fill($0) }
    }
}

@_cdecl("cst_model_copy_json") @implementation
public func cst_model_copy_json(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_json").fill(JSONText(try model(pointer).summary).text) }
}

@_cdecl("cst_model_copy_diagram") @implementation
public func cst_model_copy_diagram(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_dot").fill(try model(pointer).diagram) }
}
