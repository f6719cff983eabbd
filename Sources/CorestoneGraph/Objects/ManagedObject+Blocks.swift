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
        if let keepers = toManyKeepers {
            toManyKeepers = moved(keepers, toManyKeepersSize).assumingMemoryBound(to: ToManyRelationship?.self)
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
    private var toManyKeepersSize: Int { entity.layout.toManyCount * MemoryLayout<ToManyRelationship?>.stride }

    /// To-many relationships by ordinal; nil for those that were not accessed.
    var toManyRelationships: UnsafeMutableBufferPointer<ToManyRelationship?> {
        UnsafeMutableBufferPointer(start: toManyKeepers, count: toManyKeepers == nil ? 0 : entity.layout.toManyCount)
    }

    /// The existing to-many relationships, retained.
    ///
    /// The array is for loops that may call the application, which could turn the object into a fault.
    var keptToManyRelationships: [ToManyRelationship] { toManyRelationships.compactMap { $0 } }

    func allocateToManyKeepers() -> UnsafeMutablePointer<ToManyRelationship?> {
        let count = entity.layout.toManyCount
        let keepers = allocate(toManyKeepersSize).bindMemory(to: ToManyRelationship?.self, capacity: count)
        keepers.initialize(repeating: nil, count: count)
        toManyKeepers = keepers
        return keepers
    }

    func dropToManyRelationships() {
        guard let keepers = toManyKeepers else { return }
        toManyKeepers = nil
        keepers.deinitialize(count: entity.layout.toManyCount)
        free(keepers, toManyKeepersSize)
    }
}
