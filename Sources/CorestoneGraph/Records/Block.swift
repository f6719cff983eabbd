import Glibc

/// Allocates a memory block with malloc.
///
/// Swift's own `allocate` requests an aligned block, whose allocation is slower. The alignment of malloc is sufficient
/// for the graph's data.
@inline(__always)
func allocateBlock(_ bytes: Int) -> UnsafeMutableRawPointer {
    malloc(bytes) ?? UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
}

@inline(__always)
func freeBlock(_ block: UnsafeMutableRawPointer) { free(block) }

/// The size and alignment of a huge page, and the minimum size for which huge pages are requested.
let hugePage = 2 << 20

/// Allocates a block, and requests huge pages if the block is at least as large as one.
///
/// The first access to memory is most of the cost of a large fetch, and huge pages halve the cost of this access.
func allocateLargeBlock(_ bytes: Int) -> UnsafeMutableRawPointer {
    guard bytes >= hugePage else { return allocateBlock(bytes) }
    var place: UnsafeMutableRawPointer?
    posix_memalign(&place, hugePage, bytes)
    guard let place else { return UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16) }
    madvise(place, bytes, MADV_HUGEPAGE)
    return place
}
