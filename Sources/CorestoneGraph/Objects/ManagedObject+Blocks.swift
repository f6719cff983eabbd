/// Memory blocks of an object.
///
/// They are allocated from the pool of the object's context, or individually while the object is not in a context.
extension ManagedObject {
    func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
        contextReference?._withUnsafeGuaranteedRef { $0.blocks.allocate(bytes) } ?? allocateBlock(bytes)
    }

    func free(_ block: UnsafeMutableRawPointer, _ bytes: Int) {
        guard let contextReference else { return freeBlock(block) }
        contextReference._withUnsafeGuaranteedRef { $0.blocks.free(block, bytes) }
    }

    /// Moves the object and its blocks into a context.
    func enter(_ new: Context) {
        func moved(_ block: UnsafeMutableRawPointer, _ bytes: Int) -> UnsafeMutableRawPointer {
            let copy = new.blocks.allocate(bytes)
            copy.copyMemory(from: block, byteCount: bytes)
            freeBlock(block)
            return copy
        }
        if let overlay { self.overlay = Overlay(moved(overlay.memory, overlay.size)) }
        if let targets = toOneTargets {
            toOneTargets = moved(targets, toOneTargetsSize).assumingMemoryBound(to: ToOneTarget.self)
        }
        if let block = toManyBlock {
            toManyBlock = moved(block, toManyBlockSize).assumingMemoryBound(to: ToManyRelationship?.self)
        }
        context = new
    }

    func dropOverlay() {
        guard let overlay else { return }
        self.overlay = nil
        let size = overlay.size
        overlay.deinitialize()
        free(overlay.memory, size)
    }

    var toOneTargetsSize: Int { entity.layout.toOneCount * MemoryLayout<ToOneTarget>.stride }
    private var toManyBlockSize: Int { entity.layout.toManyCount * MemoryLayout<ToManyRelationship?>.stride }

    /// To-many relationships by ordinal; nil for those that were not accessed.
    var toManyRelationships: UnsafeMutableBufferPointer<ToManyRelationship?> {
        UnsafeMutableBufferPointer(start: toManyBlock, count: toManyBlock == nil ? 0 : entity.layout.toManyCount)
    }

    /// The existing to-many relationships, retained.
    ///
    /// The array is for loops that may call the application, which could turn the object into a fault.
    var keptToManyRelationships: [ToManyRelationship] { toManyRelationships.compactMap { $0 } }

    func allocateToManyBlock() -> UnsafeMutablePointer<ToManyRelationship?> {
        let count = entity.layout.toManyCount
        let block = allocate(toManyBlockSize).bindMemory(to: ToManyRelationship?.self, capacity: count)
        block.initialize(repeating: nil, count: count)
        toManyBlock = block
        return block
    }

    func dropToManyRelationships() {
        guard let block = toManyBlock else { return }
        toManyBlock = nil
        block.deinitialize(count: entity.layout.toManyCount)
        free(block, toManyBlockSize)
    }
}
