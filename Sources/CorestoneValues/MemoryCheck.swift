import Glibc

/// A check whether the process could allocate more memory.
///
/// A failed allocation in the Swift runtime crashes the process, and no code can recover from that. Code that reads or
/// writes a file of unknown size therefore checks here first, and repeatedly during the work. The check maps memory and
/// unmaps it immediately, so the work can then allocate as much. It detects limits of the address space (`ulimit -v`)
/// and systems without overcommitment. It cannot detect a system that kills processes later, when memory is exhausted.
package enum MemoryCheck {
    /// Bytes that are required in addition, for small allocations such as errors and their messages.
    package static let spare = 4 << 20

    /// Checks that enough memory is available.
    ///
    /// - Parameters:
    ///   - bytes: the size of the next allocations, without `spare`.
    ///   - doing: the operation, as it follows "out of memory: cannot".
    ///   - file: the file that the operation reads or writes; empty for a store without a path.
    ///   - isOfAtomicStore: whether the operation loads or saves an atomic store, so that the message suggests an
    ///     SQLite store.
    /// - Throws: `.noMemory` if the system does not grant the memory.
    package static func require(
        _ bytes: Int, to doing: @autoclosure () -> String, file: String? = nil, isOfAtomicStore: Bool = true
    ) throws {
        let size = max(bytes, 0).addingReportingOverflow(spare)
        let wanted = size.overflow ? Int.max : size.partialValue
        let place = mmap(nil, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        if let place, place != MAP_FAILED {
            munmap(place, wanted)
            return
        }
        throw CoreError(
            .noMemory,
            "out of memory: cannot \(doing()), because another \(wanted >> 20) MB are not available. Raise the limit "
                + "of the process (ulimit -v)"
                + (isOfAtomicStore ? ", free some memory, or use an SQLite store" : ", or free some memory"),
            file: file)
    }
}
