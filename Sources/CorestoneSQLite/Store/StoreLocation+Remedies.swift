import CorestoneGraph
import Glibc

extension StoreLocation {
    /// Returns the remedy for a file that cannot be read, from the semicolon on; empty for other errors.
    ///
    /// - Parameter lost: The remedy for a file that is lost.
    static func remedy(forReading code: Int32, lost: String = "restore the file from a backup") -> String {
        switch code {
        case EACCES, EPERM: "; make the file readable"
        case EIO, ELOOP, ENODATA: "; \(lost)"
        case EMFILE, ENFILE: "; close files, or raise the limit of open files"
        default: ""
        }
    }

    /// Returns the remedy for a file or folder that cannot be written, from the semicolon on; empty for other errors.
    ///
    /// - Parameters:
    ///   - folder: The folder that contains the file.
    ///   - rest: The end of the remedy.
    static func remedy(forWriting code: Int32, in folder: String = "its folder", _ rest: String = "") -> String {
        switch code {
        case EACCES, EPERM, EROFS: "; make \(folder) writable\(rest)"
        case EDQUOT, ENOSPC: "; free some space\(rest)"
        case EMFILE, ENFILE: "; close files, or raise the limit of open files"
        default: ""
        }
    }

    /// Returns the remedy for a temporary file that cannot be created or written.
    ///
    /// The text begins with the semicolon, and is empty for an error that another folder does not prevent.
    static func remedy(forTemporary code: Int32) -> String {
        switch code {
        case EIO, ENOMEM: ""
        case EMFILE, ENFILE: "; close files, or raise the limit of open files"
        default: "; set TMPDIR to a writable folder with free space"
        }
    }
}
