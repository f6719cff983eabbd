import CorestoneFileSystem
import CorestoneValues

extension ModelFile {
    /// The permissions of the file; nil if it does not exist.
    package var permissions: FilePermissions? { FilePermissions(of: path) }
}
