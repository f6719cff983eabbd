import CorestoneValues
import Glibc

// Sparse files: the holes of such a file are read as zeros and do not occupy space on the disk.

/// `SEEK_DATA` and `SEEK_HOLE`, which the C library declares only with `_GNU_SOURCE`.
private let (seekData, seekHole): (Int32, Int32) = (3, 4)

/// Passes `body` each part of the file that has data, in order, until `body` returns false.
///
/// On a file system that does not report holes, the whole file is one part. The rest of the file after the last part
/// that has data is a hole. The file position of the descriptor is restored.
package func forEachPartWithData(
    of descriptor: Int32, size: Int, _ body: (Range<Int>) throws -> Bool
) rethrows {
    let former = lseek(descriptor, 0, SEEK_CUR)
    defer { if former >= 0 { lseek(descriptor, former, SEEK_SET) } }
    var place = 0
    while place < size {
        var start = lseek(descriptor, off_t(place), seekData)
        if start < 0 {
            // The rest of the file is a hole.
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

/// Whether the holes of a file have more than `most` bytes in total.
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
