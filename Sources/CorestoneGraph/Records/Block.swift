import Glibc

/// Blocks of memory by the plain allocator. Swift's own `allocate` asks for an aligned block, which is twice as dear; every
/// block of malloc suits what the graph keeps in one.
@inline(__always)
func allocateBlock(_ bytes: Int) -> UnsafeMutableRawPointer {
    malloc(bytes) ?? UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
}

@inline(__always)
func freeBlock(_ block: UnsafeMutableRawPointer) { free(block) }

/// The size from which `allocateLargeBlock` asks for huge pages, and at which these begin.
let hugePage = 2 << 20

/// A block in huge pages if it fills one: the first touch of memory is most of the cost of a large fetch, and huge pages take
/// half of it away.
func allocateLargeBlock(_ bytes: Int) -> UnsafeMutableRawPointer {
    guard bytes >= hugePage else { return allocateBlock(bytes) }
    var place: UnsafeMutableRawPointer?
    posix_memalign(&place, hugePage, bytes)
    guard let place else { return UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16) }
    madvise(place, bytes, MADV_HUGEPAGE)
    return place
}
