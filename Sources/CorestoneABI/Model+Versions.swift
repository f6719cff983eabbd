import CCorestone
import CorestoneModel
import CorestoneSQLite
import CorestoneContainers
import CorestoneValues

@_cdecl("cst_model_merge_folder") @implementation
public func cst_model_merge_folder(
    _ path: cst_string, _ storePath: cst_string, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_model")
        let folder = try path.filePath("path")
        guard try storePath.optionalString("store_path") != nil else {
            out.pointee = try ownedHandle(try Model.merging(folder: folder))
            return
        }
        let store = try storePath.filePath("store_path")
        let metadata = try StoreMetadata(ofStoreAt: store)
        out.pointee = try ownedHandle(
            try Model.merging(folder: folder, forHashes: metadata.entityVersionHashes, ofStoreAt: store))
    }
}

@_cdecl("cst_model_copy_checksum") @implementation
public func cst_model_copy_checksum(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) { try required(out, "out_text").fill(try model(pointer).versionChecksum) }
}

@_cdecl("cst_model_copy_version_checksums") @implementation
public func cst_model_copy_version_checksums(
    _ path: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ count: UnsafeMutablePointer<Int>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_texts")
        let checksums = try Model.versionChecksums(of: try path.filePath("path"))
        count?.pointee = checksums.count
        try out.fill(checksums.map { "\($0.version)\0\($0.checksum)\0" }.joined())
    }
}

@_cdecl("cst_model_is_compatible") @implementation
public func cst_model_is_compatible(
    _ pointer: OpaquePointer?, _ configuration: cst_string, _ storePath: cst_string,
    _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_compatible")
        out.pointee = try model(pointer).isCompatible(
            with: try StoreMetadata(ofStoreAt: try storePath.filePath("store_path")),
            configuration: try configuration.optionalString("configuration"))
    }
}

@_cdecl("cst_model_is_compatible_metadata") @implementation
public func cst_model_is_compatible_metadata(
    _ pointer: OpaquePointer?, _ configuration: cst_string, _ metadata: cst_bytes,
    _ out: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_compatible")
        let bytes = try metadata.array("metadata", limit: Model.maximumFileSize)
        let stored: StoreMetadata
        do { stored = try StoreMetadata(decoding: bytes) } catch let error as CoreError {
            throw error.within("metadata cannot be read", key: "metadata")
        }
        out.pointee = try model(pointer).isCompatible(
            with: stored, configuration: try configuration.optionalString("configuration"))
    }
}

@_cdecl("cst_model_load_strings") @implementation
public func cst_model_load_strings(
    _ pointer: OpaquePointer?, _ path: cst_string, _ language: cst_string, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let model = try model(pointer)
        let path = try path.filePath("path")
        let language = try language.optionalString("language")
        if path.hasSuffix(".strings") {
            try model.loadStrings(path)
            return .ok
        }
        let languages = language.map { [$0] } ?? Model.userLanguages
        return try model.loadStrings(besideModel: path, languages: languages) ? .ok : .notFound
    }
}
