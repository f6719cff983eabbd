import CCorestone
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneValues

/// A reference to a model, and the token of the model if the host passed the model itself.
final class ModelReferenceBox: @unchecked Sendable {
    let reference: ModelReference
    let modelToken: HandleToken

    /// Creates a box, which takes ownership of one of the library's references to the model's token, unless it is 0.
    init(_ reference: ModelReference, modelToken: HandleToken = 0) {
        (self.reference, self.modelToken) = (reference, modelToken)
    }

    deinit { if modelToken != 0 { HandleTable.release(modelToken) } }
}

/// The list of stages behind a `cst_migration_stages`.
final class MigrationStagesBox {
    var stages: [MigrationStage] = []
}

// MARK: - References to models

@_cdecl("cst_model_reference_new") @implementation
public func cst_model_reference_new(
    _ pointer: OpaquePointer?, _ checksum: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_reference")
        let model = try model(pointer)
        let reference = ModelReference(model, checksum: try checksum.optionalString("checksum"))
        // Any thread may resolve the reference, so the model must be immutable.
        try model.freeze()
        guard HandleTable.retain(token(pointer)) else { throw invalidHandle(pointer, .model) }
        out.pointee = try HandleTable.make(
            ModelReferenceBox(reference, modelToken: token(pointer)), .modelReference)
    }
}

@_cdecl("cst_model_reference_new_with_path") @implementation
public func cst_model_reference_new_with_path(
    _ path: cst_string, _ version: cst_string, _ checksum: cst_string,
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_reference")
        let reference = ModelReference(
            contentsOf: try path.filePath("path"), version: try version.optionalString("version"),
            checksum: try checksum.optionalString("checksum"))
        out.pointee = try HandleTable.make(ModelReferenceBox(reference), .modelReference)
    }
}

@_cdecl("cst_model_reference_new_with_hashes") @implementation
public func cst_model_reference_new_with_hashes(
    _ count: Int, _ names: UnsafePointer<cst_string>?, _ hashes: UnsafePointer<cst_bytes>?, _ pathCount: Int,
    _ paths: UnsafePointer<cst_string>?, _ checksum: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_reference")
        let names = try strings(names, count, "names")
        let hashes = try zip(names, try array(hashes, count, "hashes")).map { name, hash -> [UInt8] in
            do { return try hash.array("the version hash", limit: 64) } catch let error as CoreError {
                throw error.within(name, entity: name, key: "hashes")
            }
        }
        var found: [String: [UInt8]] = [:]
        for (name, hash) in zip(names, hashes) {
            guard found.updateValue(hash, forKey: name) == nil else {
                throw CoreError(
                    .invalidArgument, "names contains \"\(name)\" twice; pass each entity once", key: "names",
                    value: .string(name))
            }
        }
        let reference = ModelReference(
            entityVersionHashes: found, in: try filePaths(paths, pathCount, "paths"),
            checksum: try checksum.optionalString("checksum"))
        out.pointee = try HandleTable.make(ModelReferenceBox(reference), .modelReference)
    }
}

@_cdecl("cst_model_reference_resolve") @implementation
public func cst_model_reference_resolve(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        let box = try referenceBox(pointer)
        let model = try box.reference.resolve()
        if box.modelToken != 0, HandleTable.retainForHost(box.modelToken) {
            out.pointee = handle(box.modelToken)
        } else {
            out.pointee = try ownedHandle(model)
        }
    }
}

private func referenceBox(_ pointer: OpaquePointer?) throws -> ModelReferenceBox {
    try resolve(pointer, .modelReference)
}

// MARK: - Stages

@_cdecl("cst_migration_stages_new") @implementation
public func cst_migration_stages_new(_ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        try place(out, "out_stages").pointee = try HandleTable.make(MigrationStagesBox(), .migrationStages)
    }
}

@_cdecl("cst_migration_stages_add_lightweight") @implementation
public func cst_migration_stages_add_lightweight(
    _ pointer: OpaquePointer?, _ count: Int, _ checksums: UnsafePointer<cst_string>?, _ label: cst_string,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try stagesBox(pointer)
        box.stages.append(
            .lightweight(
                try strings(checksums, count, "checksums"), label: try label.optionalString("label")))
    }
}

@_cdecl("cst_migration_stages_add_custom") @implementation
public func cst_migration_stages_add_custom(
    _ pointer: OpaquePointer?, _ current: OpaquePointer?, _ next: OpaquePointer?, _ label: cst_string,
    _ willMigrate: cst_migration_stage_fn?, _ didMigrate: cst_migration_stage_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?, _ error: ErrorOut
) -> cst_status {
    let payload = Userdata(userdata, destroy)
    return boundary(error) {
        let box = try stagesBox(pointer)
        func handler(_ function: cst_migration_stage_fn?, _ name: String) -> MigrationStage.Handler? {
            guard let function else { return nil }
            return { context in
                try callHost("the callback \(name)") { function(payload.pointer, context.hostHandle, $0) }
            }
        }
        box.stages.append(
            .custom(
                from: try referenceBox(current).reference, to: try referenceBox(next).reference,
                label: try label.optionalString("label"), willMigrate: handler(willMigrate, "will_migrate"),
                didMigrate: handler(didMigrate, "did_migrate")))
    }
}

@_cdecl("cst_migration_stages_add_transformation") @implementation
public func cst_migration_stages_add_transformation(
    _ pointer: OpaquePointer?, _ current: OpaquePointer?, _ next: OpaquePointer?, _ label: cst_string,
    _ transform: cst_migration_transformation_fn?, _ userdata: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?,
    _ error: ErrorOut
) -> cst_status {
    let host = HostCallback(transform, Userdata(userdata, destroy))
    return boundary(error) {
        let box = try stagesBox(pointer)
        let (current, next) = (try referenceBox(current).reference, try referenceBox(next).reference)
        let label = try label.optionalString("label")
        let host: HostCallback<cst_migration_transformation_fn> = try host.required("transform")
        box.stages.append(
            .transformation(from: current, to: next, label: label) { old, new in
                try callHost("the callback transform") {
                    host.function(host.userdata, old.hostHandle, new.hostHandle, $0)
                }
            })
    }
}

@_cdecl("cst_migration_stages_add_mapping") @implementation
public func cst_migration_stages_add_mapping(
    _ pointer: OpaquePointer?, _ current: OpaquePointer?, _ next: OpaquePointer?, _ label: cst_string,
    _ mapping: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try stagesBox(pointer)
        box.stages.append(
            .mapping(
                from: try referenceBox(current).reference, to: try referenceBox(next).reference,
                label: try label.optionalString("label"), try mappingModel(mapping)))
    }
}

@_cdecl("cst_migration_stages_load") @implementation
public func cst_migration_stages_load(
    _ path: cst_string, _ count: Int, _ models: UnsafePointer<OpaquePointer?>?, _ pathCount: Int,
    _ paths: UnsafePointer<cst_string>?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_stages")
        let file = try path.filePath("path")
        let versions = try array(models, count, "models").map { try model($0) }
        let read = try StagedMigration(
            contentsOf: file, models: versions, searchPaths: try filePaths(paths, pathCount, "paths"))
        let box = MigrationStagesBox()
        box.stages = read.stages
        out.pointee = try HandleTable.make(box, .migrationStages)
    }
}

@_cdecl("cst_migration_stages_add_stage") @implementation
public func cst_migration_stages_add_stage(
    _ pointer: OpaquePointer?, _ other: OpaquePointer?, _ index: Int, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try stagesBox(pointer)
        let stages = try stagesBox(other).stages
        guard stages.indices.contains(index) else {
            let found =
                stages.isEmpty
                ? "is empty; pass a list with stages"
                : "has \(stages.count) \(stages.count == 1 ? "stage" : "stages"); pass an index below "
                    + "cst_migration_stages_count"
            throw CoreError(
                .invalidArgument, "index is \(UInt(bitPattern: index)), but the list other \(found)",
                key: "index", value: sizeValue(index))
        }
        box.stages.append(stages[index])
    }
}

@_cdecl("cst_migration_stages_count") @implementation
public func cst_migration_stages_count(_ pointer: OpaquePointer?) -> Int {
    (try? stagesBox(pointer))?.stages.count ?? 0
}

@_cdecl("cst_migration_stages_copy_label") @implementation
public func cst_migration_stages_copy_label(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_label")
        let stages = try stagesBox(pointer).stages
        guard stages.indices.contains(index) else { return .end }
        guard let label = stages[index].label else { return .notFound }
        try out.fill(label)
        return .ok
    }
}

@_cdecl("cst_migration_stages_validate") @implementation
public func cst_migration_stages_validate(_ pointer: OpaquePointer?, _ error: ErrorOut) -> cst_status {
    boundary(error) { _ = try StagedMigration(try stagesBox(pointer).stages) }
}

private func stagesBox(_ pointer: OpaquePointer?) throws -> MigrationStagesBox {
    try resolve(pointer, .migrationStages)
}

// MARK: - Options of a store

/// The mapping models, stages and callbacks in the options of a store.
struct MigrationCode {
    private let mappingModels: [MappingModel]
    private let stages: StagedMigration?
    private let willStart: (@Sendable (MigrationManager) throws -> Void)?

    init(_ given: cst_store_options) throws {
        mappingModels = try array(given.mapping_models, given.mapping_model_count, "options.mapping_models").map {
            try mappingModel($0)
        }
        stages = try given.stages.map { try StagedMigration(try stagesBox($0).stages) }
        if let function = given.manager_will_start {
            let userdata = Userdata(given.manager_will_start_userdata, nil)
            willStart = { manager in
                try callHost("the callback manager_will_start") { function(userdata.pointer, manager.handle, $0) }
            }
        } else {
            willStart = nil
        }
        guard stages != nil, !mappingModels.isEmpty else { return }
        throw CoreError(
            .invalidArgument,
            "options has both stages and mapping_models; add each mapping model as a stage "
                + "(cst_migration_stages_add_mapping, MigrationStage.mapping), or leave out the stages", key: "stages")
    }

    var isEmpty: Bool { mappingModels.isEmpty && stages == nil && willStart == nil }

    func set(_ options: inout MigrationOptions) throws {
        if let stages { options.stages = stages }
        if !mappingModels.isEmpty { options.mappingModels = mappingModels }
        if let willStart { options.managerWillStart = willStart }
    }
}
