// Loops over many objects without retaining each object.
extension [ManagedObject] {
    /// Passes each object, or each object of a part, to a function.
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

    /// Whether all objects satisfy a test, which is called without retaining the object.
    @inline(__always)
    func allUnretained(_ test: (ManagedObject) throws -> Bool) rethrows -> Bool {
        try withUnsafeBufferPointer { buffer in
            try buffer.withMemoryRebound(to: Unmanaged<ManagedObject>.self) {
                try $0.allSatisfy { try $0._withUnsafeGuaranteedRef(test) }
            }
        }
    }
}
