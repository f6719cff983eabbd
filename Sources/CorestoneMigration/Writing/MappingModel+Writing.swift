import CorestoneFileSystem
import CorestoneModel
import CorestoneValues

extension MappingModel {
    /// Writes the mapping model in the format of the path's extension.
    ///
    /// The extension `.cdm` is for the compiled format, `.xcmappingmodel` for the format of Xcode's editor. A file or
    /// folder at the path is replaced atomically; other files in the folder are kept.
    ///
    /// - Throws: `.invalidArgument` for another extension.
    ///   `.unsupported` or `.model` for content that the format cannot represent.
    ///   `.storeIO` if the file cannot be written.
    public func write(to path: String) throws {
        let file = LocalFile(path)
        if file.name.hasSuffix(".cdm") {
            try file.write(try compiled())
        } else if file.name.hasSuffix(".xcmappingmodel") {
            let content = try source()
            let draft = try FolderDraft(replacing: file)
            do {
                try draft.copyTarget()
                try draft.write(content, to: "xcmapping.xml")
                try draft.commit()
            } catch {
                draft.discard()
                throw error
            }
        } else {
            throw CoreError(
                .invalidArgument,
                "\(file.name) is not a file name for a mapping model; use the extension .xcmappingmodel or .cdm",
                key: "path", file: path)
        }
    }
}
