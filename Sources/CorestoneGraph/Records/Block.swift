import Glibc

/// Small blocks of memory by the plain allocator. Swift's own `allocate` asks for an aligned block, which is twice as dear;
/// every block of malloc suits what the graph keeps in one.
@inline(__always)
func allocateBlock(_ bytes: Int) -> UnsafeMutableRawPointer {
    malloc(bytes) ?? UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
}

@inline(__always)
func freeBlock(_ block: UnsafeMutableRawPointer) { free(block) }
