import CorestoneModel
import CorestoneValues

extension MappingModel {
    /// Writes the mapping model in the form of the path's extension: `.cdm` for the compiled form, `.xcmappingmodel` for the form of
    /// Xcode's editor.
    ///
    /// A file or folder at the path is replaced in one step; other files in the folder stay.
    /// - Throws: `.invalidArgument` for another extension; `.unsupported` or `.model` for content that the form cannot represent;
    ///   `.storeIO` if the file cannot be written.
    public func write(to path: String) throws {
        let file = ModelFile(path)
        if file.name.hasSuffix(".cdm") {
            try file.write(try compiled())
        } else if file.name.hasSuffix(".xcmappingmodel") {
            let content = try source()
            let draft = try FolderDraft(replacing: file)
            do {
                try draft.keep()
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
                file: path)
        }
    }
}
