import CorestoneFileSystem

extension LocalFile {
    /// Reads the file as a whole, up to the maximum size of a model file.
    package func bytes() throws -> [UInt8] { try bytes(limit: Model.maximumFileSize) }
}
