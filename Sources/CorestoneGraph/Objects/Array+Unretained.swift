// Loops over many objects of which little is asked, without a reference taken to each.
extension [ManagedObject] {
    /// Hands over each object, or each of a part.
    @inline(__always)
    func forEachUnretained(
        in part: Range<Int>? = nil, _ body: (Unmanaged<ManagedObject>) throws -> Void
    ) rethrows {
        try withUnsafeBufferPointer { buffer in
            try buffer.withMemoryRebound(to: Unmanaged<ManagedObject>.self) {
                for reference in $0[part ?? $0.indices] { try body(reference) }
            }
        }
    }

    /// Whether all pass a test that keeps none of them.
    @inline(__always)
    func allUnretained(_ test: (ManagedObject) throws -> Bool) rethrows -> Bool {
        try withUnsafeBufferPointer { buffer in
            try buffer.withMemoryRebound(to: Unmanaged<ManagedObject>.self) {
                try $0.allSatisfy { try $0._withUnsafeGuaranteedRef(test) }
            }
        }
    }
}
