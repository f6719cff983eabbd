import Glibc

/// Whether the system would give the process more memory.
///
/// The runtime of Swift ends the process when an allocation of its own fails, and no code can go on after that. So what is read from a
/// file, or written to one, asks here first, and again and again on its way: what is given back at once was there for what
/// comes next. Limits of the address space (`ulimit -v`) and systems that promise no more than they have answer; a system
/// that ends processes later, when memory runs out, cannot be asked.
package enum MemoryRoom {
    /// Bytes that are asked for besides: for what nobody counts, errors and their texts among it.
    package static let spare = 4 << 20

    /// - Parameters:
    ///   - bytes: what is about to be needed, beyond `spare`.
    ///   - doing: what needs it, as it follows "out of memory: cannot".
    ///   - file: the file that it is about.
    ///   - isOfAtomicStore: whether a store is held in memory as a whole, so that another type of store would need less.
    /// - Throws: `.noMemory` when the system would not give them.
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
            "out of memory: cannot \(doing()) without another \(wanted >> 20) MiB. Raise the limit of the process "
                + "(ulimit -v)\(isOfAtomicStore ? ", free some memory, or use an SQLite store" : ", or free some memory")",
            file: file)
    }
}
