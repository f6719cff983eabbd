import Glibc

// Of a sparse file, which names a size and has nothing on the disk for parts of it.

/// `SEEK_DATA` and `SEEK_HOLE`, which the C library keeps from strict programs.
private let (seekData, seekHole): (Int32, Int32) = (3, 4)

/// Hands `body` the parts of a file that have data, in order, until it says that it has enough. On a file system that does not
/// tell, all is data. What lies behind the last part, up to the size, is a hole. The descriptor's place in the file stays.
package func forEachPartWithData(
    of descriptor: Int32, size: Int, _ body: (Range<Int>) throws -> Bool
) rethrows {
    let former = lseek(descriptor, 0, SEEK_CUR)
    defer { if former >= 0 { lseek(descriptor, former, SEEK_SET) } }
    var place = 0
    while place < size {
        var start = lseek(descriptor, off_t(place), seekData)
        if start < 0 {
            // Nothing but a hole is left.
            if errno == ENXIO { return }
            start = off_t(place)
        }
        let hole = lseek(descriptor, start, seekHole)
        let end = hole > start ? min(Int(hole), size) : size
        guard Int(start) < end else { return }
        if try !body(Int(start)..<end) { return }
        place = end
    }
}

/// Whether a file has holes of more bytes than these.
package func hasHoles(_ descriptor: Int32, size: Int, over most: Int) -> Bool {
    if size <= most { return false }
    var (holes, last) = (0, 0)
    forEachPartWithData(of: descriptor, size: size) { part in
        holes += part.lowerBound - last
        last = part.upperBound
        return holes <= most
    }
    return holes > most || holes.addingClamped(size - last) > most
}
