/// The saves in a write-ahead log that cannot be read because a frame is damaged.
///
/// SQLite silently ignores that frame and all later ones.
struct LogLoss: Equatable {
    /// The number of the damaged frame, from 1.
    let frame: Int64
    /// The number of transactions that end in the damaged frame or after it.
    let saves: Int
    /// Whether a frame was changed after it was written, so that the log is certainly damaged.
    let isDamaged: Bool

    /// Whether a crash cannot leave the log in this state.
    ///
    /// - Parameter isSynchronous: Whether each save waited for the disk (`synchronous` FULL). If not, a crash of the
    ///   system can lose parts of several saves.
    func isCertain(isSynchronous: Bool) -> Bool { isDamaged || saves > 1 && isSynchronous }

    /// A description of the loss, for a message about the store.
    var explanation: String {
        if !isDamaged, saves > 1 {
            return
                "\(lostSaves) in the write-ahead log cannot be read (from frame \(frame)). The log is damaged, or the "
                + "system crashed without full synchronisation; restore the store and its log from the same backup, or "
                + "open the store with CST_STORE_NORMAL_SYNC (sync=\"normal\") to continue without these saves"
        }
        if !isDamaged {
            return "the last save in the write-ahead log (frame \(frame)) is incomplete and was skipped, because of a "
                + "crash or damage"
        }
        return
            "the write-ahead log is damaged (frame \(frame)), and \(lostSaves) cannot be read; restore the store and "
            + "its log from the same backup, or move the log away"
    }

    var lostSaves: String { saves == 1 ? "1 save" : "\(saves) saves" }
}

extension WriteAheadLog {
    /// A frame of the log.
    ///
    /// It consists of the page number, the size of the file after a commit, two salts, two checksums, and the page's
    /// bytes.
    struct Frame {
        let bytes: [UInt8]
        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func word(at offset: Int) -> UInt32 {
            bytes.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
        }
        var isCommit: Bool { word(at: 4) != 0 }
        var checksums: (UInt32, UInt32) { (word(at: 16), word(at: 20)) }
        /// Whether the frame was written since the log was restarted with `header`.
        func isSinceRestart(_ header: [UInt8]) -> Bool { bytes[8..<16] == header[16..<24] }
    }

    /// Adds a frame to the running checksums, and returns whether they match those of the frame.
    mutating func isSound(_ frame: Frame) -> Bool {
        updateChecksums(with: frame.bytes[..<8])
        updateChecksums(with: frame.bytes[24...])
        return checksums == frame.checksums
    }

    /// Returns the loss caused by a frame that is damaged, or that was written before the log was restarted.
    ///
    /// The checksums of the next frame continue those of this frame. If they match, only this frame was changed after
    /// it was written. A crash instead loses whole sectors, including the headers of frames. With full synchronisation,
    /// SQLite does not write a second transaction before the first is on the disk. Without it, a crash of the system
    /// may lose sectors of several transactions.
    ///
    /// - Returns: nil for a normal end of the log.
    mutating func loss(at broken: Frame, _ offset: Int64, of size: Int64, _ header: [UInt8]) throws -> LogLoss? {
        let length = Int64(broken.bytes.count)
        var saves = broken.isSinceRestart(header) && broken.isCommit ? 1 : 0
        var (isFollowed, next) = (false, offset + length)
        while next + length <= size {
            let frame = Frame(try read(at: next, count: Int(length)))
            guard frame.bytes.count == Int(length), frame.isSinceRestart(header) else { break }
            if next == offset + length {
                let computed = checksums
                checksums = broken.checksums
                isFollowed = isSound(frame)
                // If the next frame does not match, the damage may be in the checksums themselves.
                checksums = isFollowed ? checksums : computed
                if !isFollowed { isFollowed = isSound(frame) }
            }
            if frame.isCommit { saves += 1 }
            next += length
        }
        guard saves > 0 else { return nil }
        return LogLoss(frame: (offset - 32) / length + 1, saves: saves, isDamaged: isFollowed)
    }
}
