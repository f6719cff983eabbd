import CPlatform
import CorestoneValues
import Glibc

/// A growing buffer of a column, aligned as Arrow recommends. Its memory is freed with `free`.
struct ArrowMemory {
    private(set) var start: UnsafeMutableRawPointer?
    private(set) var capacity = 0

    /// Reserves capacity for `size` bytes, and preserves the first `used` bytes.
    @inline(__always)
    mutating func reserve(_ size: Int, keeping used: Int) throws {
        if size > capacity || start == nil { try grow(size, used) }
    }

    @inline(never)
    private mutating func grow(_ size: Int, _ used: Int) throws {
        let alignment = Int(PLATFORM_ARROW_ALIGNMENT)
        let newCapacity = (max(size, capacity * 2, alignment) + alignment - 1) & ~(alignment - 1)
        var place: UnsafeMutableRawPointer?
        guard posix_memalign(&place, alignment, newCapacity) == 0, let place else {
            throw CoreError(
                .noMemory,
                "out of memory: cannot allocate \(newCapacity) bytes for a column of an Arrow export; export fewer "
                    + "rows or columns, or a stream with a smaller batch_size (batchSize)")
        }
        if let start {
            memcpy(place, start, used)
            free(start)
        }
        start = place
        capacity = newCapacity
    }

    /// Returns the memory, which the caller must free, and leaves the buffer empty.
    mutating func take() -> UnsafeMutableRawPointer? {
        defer { self = ArrowMemory() }
        return start
    }

    mutating func release() { free(take()) }
}
