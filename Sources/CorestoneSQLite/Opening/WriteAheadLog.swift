import CSQLite
import CorestoneFileSystem
import CorestoneGraph
import CorestoneValues
import Glibc

/// An examination of the write-ahead log next to a file, without SQLite.
///
/// It determines whether the log contains committed pages, and whether it belongs to the file.
///
/// The format is SQLite's (fileformat2, section 4): a header of 32 bytes, then frames of 24 bytes and one page each.
/// Every frame repeats the header's two salts and carries a running checksum.
struct WriteAheadLog {
    private enum State: Equatable {
        /// The log does not contain committed pages.
        case withoutCommits
        /// The log contains committed pages, which the file may lack. The log does not show whether they were
        /// checkpointed.
        case live
        /// The log belongs to another file or to an earlier state of this one, or its header is damaged. The text is
        /// the reason, as a clause for a message.
        case stale(String)
    }

    /// The result of examining a log that belongs to its file.
    struct Findings {
        /// Whether the log contains committed pages, which the file may lack.
        var isLive = false
        /// The saves in the log that cannot be read; nil if all can be read.
        var loss: LogLoss?
    }

    /// Examines the log next to the file that `connection` has open.
    ///
    /// - Throws: `storeCorrupt` if the log does not belong to the file. SQLite does not report that: it applies pages
    ///   of another state, or discards a log with a damaged header and all saves in it.
    ///   `storeIO` if the log cannot be read.
    static func examine(beside place: StoreLocation, _ connection: Connection) throws -> Findings {
        guard place.hasCompanion("-wal") else { return Findings() }
        var (state, loss) = try state(place, connection)
        // The first result may be wrong if another process restarted the log or was writing a frame, so the log is read
        // again.
        if loss != nil || state != .withoutCommits && state != .live {
            (state, loss) = try self.state(place, connection)
        }
        guard case .stale(let reason) = state else { return Findings(isLive: state == .live, loss: loss) }
        throw CoreError(
            .storeCorrupt, code: .persistentStoreOpen,
            "the write-ahead log \(place.companion("-wal")) cannot be used: \(reason). Restore the store and its log from the "
                + "same backup, or move the log away to open the store without it",
            sqliteCode: SQLITE_CORRUPT, file: place.given)
    }

    private static func state(_ place: StoreLocation, _ connection: Connection) throws -> (State, LogLoss?) {
        // The file is read first, so that its state may be older than the log, but not newer.
        let header = try FileHeader(connection)
        guard header.isDatabase, header.pageSize > 0 else { return (.withoutCommits, nil) }
        let size = place.sizeNow
        let descriptor = open(place.path + "-wal", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return (.withoutCommits, nil) }
            throw unreadable(place, errno)
        }
        defer { close(descriptor) }
        var log = WriteAheadLog(descriptor: descriptor, place: place)
        return (try log.examine(header, pageCount: size / header.pageSize), log.loss)
    }

    /// Returns the header of a log; empty without a log.
    ///
    /// The header changes when the log is restarted, but not when a transaction is added.
    static func header(ofLogAt path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &header, header.count, 0)
        return Array(header.prefix(max(count, 0)))
    }

    private let descriptor: Int32
    private let place: StoreLocation
    private var isBigEndian = false
    var checksums: (UInt32, UInt32) = (0, 0)
    private var loss: LogLoss?

    private init(descriptor: Int32, place: StoreLocation) {
        self.descriptor = descriptor
        self.place = place
    }

    private mutating func examine(_ file: FileHeader, pageCount: Int) throws -> State {
        let pageSize = file.pageSize
        let header = try read(at: 0, count: 32)
        // A crash before the first commit leaves a header that is truncated or all zeros.
        guard header.count == 32, header.contains(where: { $0 != 0 }) else { return .withoutCommits }
        let magic = word(header, at: 0)
        guard magic & ~1 == 0x377f_0682 else { return .stale("it does not have the header of a write-ahead log") }
        isBigEndian = magic & 1 != 0
        let logPageSize = Int(word(header, at: 8))
        guard logPageSize == pageSize else {
            return .stale("its pages have \(logPageSize) bytes, but those of the store have \(pageSize)")
        }
        updateChecksums(with: header[..<24])
        guard checksums == (word(header, at: 24), word(header, at: 28)) else { return .stale("its header is damaged") }

        var committed: Set<UInt32> = []
        var pending: [UInt32] = []
        var size: UInt32 = 0
        // The change counter, which is at offset 24 of the first page.
        var (counter, pendingCounter): (UInt32?, UInt32?)
        var offset: Int64 = 32
        // Reads only to the current end: a writer might append faster than this loop reads.
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw WriteAheadLog.unreadable(place, errno) }
        while offset < Int64(status.st_size) {
            let frame = Frame(try read(at: offset, count: 24 + pageSize))
            guard frame.bytes.count == 24 + pageSize else { break }
            // After the newest frames, the log may contain frames from before its restart, which have been
            // checkpointed.
            if offset == 32, !frame.isSinceRestart(header), frame.word(at: 8) &+ 1 != word(header, at: 16) {
                return .stale("its frames do not match its header")
            }
            guard frame.isSinceRestart(header), isSound(frame) else {
                loss = try loss(at: frame, offset, of: Int64(status.st_size), header)
                break
            }
            pending.append(frame.word(at: 0))
            if frame.word(at: 0) == 1 { pendingCounter = frame.word(at: 24 + 24) }
            if frame.isCommit {
                size = frame.word(at: 4)
                counter = pendingCounter
                committed.formUnion(pending)
                pending.removeAll(keepingCapacity: true)
            }
            offset += Int64(24 + pageSize)
        }
        guard size > 0 else { return .withoutCommits }
        return staleIfPagesAreMissing(pages: size, beyond: pageCount, committed, pageSize: pageSize)
            ?? staleIfOlder(than: file, pages: size, counter: counter) ?? .live
    }

    /// Rejects a log of an earlier state of the file, because the pages of the log would replace newer ones.
    ///
    /// - Returns: nil if the log is not older.
    private func staleIfOlder(than file: FileHeader, pages: UInt32, counter: UInt32?) -> State? {
        if let counter {
            guard Int32(bitPattern: counter &- file.changeCounter) < 0 else { return nil }
            let writes = file.changeCounter &- counter
            return .stale(
                "the store was written \(writes) time\(writes == 1 ? "" : "s") since the log's last transaction")
        }
        // The first page contains the number of pages. If the log does not contain the first page, no transaction of
        // the log changed that number.
        let counted = file.size / file.pageSize
        guard counted > 0, Int(pages) != counted else { return nil }
        return .stale("it belongs to a file of \(pages) page\(pages == 1 ? "" : "s"), but the store has \(counted)")
    }

    /// Rejects a log if some pages are in neither the file nor the log, because the two do not belong together.
    private func staleIfPagesAreMissing(pages: UInt32, beyond pageCount: Int, _ committed: Set<UInt32>, pageSize: Int)
        -> State?
    {
        guard Int(pages) > pageCount else { return nil }
        let added = committed.count { Int($0) > pageCount && $0 <= pages }
        // The lock-byte page, at offset 1 GiB, is never written.
        let unused = pageCount < (1 << 30) / pageSize + 1 && Int(pages) > (1 << 30) / pageSize ? 1 : 0
        guard added + unused < Int(pages) - pageCount else { return nil }
        return .stale(
            "it belongs to a file of \(counted(Int64(pages), "page")), but the store and the log together have only "
                + "\(pageCount + added)")
    }

    /// Updates SQLite's running checksum, which covers all words in the byte order that the magic number indicates.
    mutating func updateChecksums(with bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { raw in
            var (a, b) = checksums
            var position = 0
            while position + 8 <= raw.count {
                let x = raw.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let y = raw.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
                a = a &+ (isBigEndian ? UInt32(bigEndian: x) : UInt32(littleEndian: x)) &+ b
                b = b &+ (isBigEndian ? UInt32(bigEndian: y) : UInt32(littleEndian: y)) &+ a
                position += 8
            }
            checksums = (a, b)
        }
    }

    private func word(_ bytes: [UInt8], at offset: Int) -> UInt32 { Frame(bytes).word(at: offset) }

    /// Returns bytes of the log; fewer than `count` at its end.
    func read(at offset: Int64, count: Int) throws -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = 0
            while filled < count {
                let readCount = pread(
                    descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, Int(offset) + filled)
                if readCount < 0 && errno == EINTR { continue }
                if readCount < 0 { failure = errno }
                if readCount <= 0 { return }
                filled += readCount
            }
        }
        if failure != 0 { throw WriteAheadLog.unreadable(place, failure) }
        return bytes
    }

    private static func unreadable(_ place: StoreLocation, _ code: Int32) -> CoreError {
        let remedy = SystemError(code).remedyForReading(lost: "restore the store and its log from a backup")
        return CoreError(
            .storeIO, code: .persistentStoreOpen,
            "cannot read the write-ahead log \(place.companion("-wal")): \(SystemError(code).text)\(remedy)",
            file: place.given)
    }
}
