/// What was saved in a write-ahead log and cannot be read, since a frame of it is damaged. SQLite leaves out that frame and
/// all behind it, without a word.
struct LogLoss: Equatable {
    /// From 1.
    let frame: Int64
    /// How many transactions end in the damaged frame or behind it.
    let saves: Int
    /// Whether a crash cannot have left the log like that.
    let isCertain: Bool

    /// What happened, as the end of a sentence.
    var account: String {
        if !isCertain {
            return "the last save in its write-ahead log is incomplete (frame \(frame)) and was skipped: a crash "
                + "interrupted it or the log is damaged"
        }
        return
            "its write-ahead log is damaged (frame \(frame)), and \(lostSaves) cannot be read; restore the store and its log "
            + "from the same backup, or move the log away"
    }

    var lostSaves: String { saves == 1 ? "1 save" : "\(saves) saves" }
}

extension WriteAheadLog {
    /// A frame of the log: page, size of the file after a commit, two salts, two sums, and the page's bytes.
    struct Frame {
        let bytes: [UInt8]
        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func word(_ place: Int) -> UInt32 {
            bytes.withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: place, as: UInt32.self)) }
        }
        var isCommit: Bool { word(4) != 0 }
        var sums: (UInt32, UInt32) { (word(16), word(20)) }
        /// Whether it was written since the log began as `header` says.
        func isOfRound(_ header: [UInt8]) -> Bool { bytes[8..<16] == header[16..<24] }
    }

    /// Whether the frame's sums go on from those before it; adds it to them.
    mutating func isSound(_ frame: Frame) -> Bool {
        add(frame.bytes[..<8])
        add(frame.bytes[24...])
        return sums == frame.sums
    }

    /// What is lost by a frame that is not sound, or of another round; nil for an ordinary end of the log.
    ///
    /// Whatever follows goes on from the sums of that frame. When the very next one does, that one alone was changed after
    /// it was written; a crash leaves holes of whole sectors, which take the heads of frames with them. And no second
    /// transaction is written before the first is on the disk.
    mutating func loss(at broken: Frame, _ offset: Int64, of size: Int64, _ header: [UInt8]) throws -> LogLoss? {
        let length = Int64(broken.bytes.count)
        var saves = broken.isOfRound(header) && broken.isCommit ? 1 : 0
        var (isFollowed, place) = (false, offset + length)
        while place + length <= size {
            let frame = Frame(try read(at: place, count: Int(length)))
            guard frame.bytes.count == Int(length), frame.isOfRound(header) else { break }
            if place == offset + length {
                let computed = sums
                sums = broken.sums
                isFollowed = isSound(frame)
                // Or the damage is in the sums themselves.
                sums = isFollowed ? sums : computed
                if !isFollowed { isFollowed = isSound(frame) }
            }
            if frame.isCommit { saves += 1 }
            place += length
        }
        guard saves > 0 else { return nil }
        return LogLoss(
            frame: (offset - 32) / length + 1, saves: saves, isCertain: isFollowed || saves > 1)
    }
}
