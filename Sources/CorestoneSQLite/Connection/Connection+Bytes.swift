import CSQLite
import CorestoneValues
import Glibc

extension Connection {
    /// Returns bytes of the database file; fewer than `count`, or none, at the end of the file.
    ///
    /// They are read through SQLite's file handle, because closing a second descriptor would release the locks of other
    /// connections of this process.
    func bytes(from offset: Int64, count: Int) throws -> [UInt8] {
        let wanted = min(Int64(count), max(0, Int64(fileSize) - offset))
        guard wanted > 0, let file, let read = file.pointee.pMethods?.pointee.xRead else { return [] }
        var code = SQLITE_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(wanted)) { buffer, filled in
            code = read(file, buffer.baseAddress, Int32(wanted), offset)
            filled = code == SQLITE_OK ? Int(wanted) : 0
        }
        // SQLITE_IOERR_SHORT_READ, a macro that Swift does not import, is an ordinary end of file.
        guard code == SQLITE_OK || code & 0xff == SQLITE_IOERR && code >> 8 == 2 else {
            throw SQLiteError.make(
                nil, code: code, path: path, purpose: "read \(path)", cocoaCode: .persistentStoreOpen)
        }
        return bytes
    }

    /// The current size of the database file in bytes, without its log; 0 if the size cannot be read.
    var fileSize: Int {
        var size: Int64 = 0
        guard let file, let readSize = file.pointee.pMethods?.pointee.xFileSize, readSize(file, &size) == SQLITE_OK
        else {
            return 0
        }
        return Int(size)
    }

    /// The number of bytes that the file occupies on the disk; `fileSize` if the number cannot be read. It is less than
    /// `fileSize` for a sparse file.
    var allocatedSize: Int {
        var status = stat()
        guard let name = sqlite3_db_filename(db, "main"), stat(name, &status) == 0 else { return fileSize }
        return Int(status.st_blocks).multipliedClamped(by: 512)
    }

    /// Synchronises the write-ahead log to the disk. Returns false if that fails.
    func synchroniseLog() -> Bool {
        guard let log, let synchronise = log.pointee.pMethods?.pointee.xSync else { return false }
        return synchronise(log, SQLITE_SYNC_NORMAL) == SQLITE_OK
    }

    private var file: UnsafeMutablePointer<sqlite3_file>? { file(SQLITE_FCNTL_FILE_POINTER) }

    /// The write-ahead log, or the rollback journal in use.
    private var log: UnsafeMutablePointer<sqlite3_file>? { file(SQLITE_FCNTL_JOURNAL_POINTER) }

    private func file(_ which: Int32) -> UnsafeMutablePointer<sqlite3_file>? {
        var place: UnsafeMutableRawPointer?
        sqlite3_file_control(db, "main", which, &place)
        return place?.assumingMemoryBound(to: sqlite3_file.self)
    }
}
