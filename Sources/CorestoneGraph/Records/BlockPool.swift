/// Small blocks of memory for the objects of one context: changed values, targets, members.
///
/// They lie close together in large pieces, so that a context with a hundred thousand new objects touches few pages, and those
/// huge ones. Freed blocks serve again; when the last one is freed, the pieces go. Confined like the context.
final class BlockPool {
    /// Freed blocks by their size in units, each linked to the next by its first word.
    private var freed: [UnsafeMutableRawPointer?] = Array(repeating: nil, count: BlockPool.largest / BlockPool.unit + 1)
    private var pieces: [UnsafeMutableRawPointer] = []
    private var next: UnsafeMutableRawPointer?
    private var room = 0
    private var pieceSize = 0
    private var live = 0

    private static let unit = 16
    /// Larger blocks are left to the plain allocator.
    private static let largest = 1024
    private static let firstPiece = 4096

    deinit { for piece in pieces { freeBlock(piece) } }

    func allocate(_ bytes: Int) -> UnsafeMutableRawPointer {
        if bytes > BlockPool.largest { return allocateBlock(bytes) }
        let units = (bytes + BlockPool.unit - 1) / BlockPool.unit
        live += 1
        if let block = freed[units] {
            freed[units] = block.load(as: UnsafeMutableRawPointer?.self)
            return block
        }
        let size = units * BlockPool.unit
        guard let place = next, room >= size else { return newPiece(for: size) }
        next = place + size
        room -= size
        return place
    }

    private func newPiece(for size: Int) -> UnsafeMutableRawPointer {
        pieceSize = pieces.isEmpty ? BlockPool.firstPiece : min(pieceSize * 8, hugePage)
        let piece = allocateLargeBlock(pieceSize)
        pieces.append(piece)
        next = piece + size
        room = pieceSize - size
        return piece
    }

    /// - Parameter bytes: what the block was asked for with.
    func free(_ block: UnsafeMutableRawPointer, _ bytes: Int) {
        if bytes > BlockPool.largest { return freeBlock(block) }
        live -= 1
        if live == 0 { return removeAll() }
        let units = (bytes + BlockPool.unit - 1) / BlockPool.unit
        block.storeBytes(of: freed[units], as: UnsafeMutableRawPointer?.self)
        freed[units] = block
    }

    /// Nothing is in use: begins anew in the first piece.
    private func removeAll() {
        for piece in pieces.dropFirst() { freeBlock(piece) }
        pieces.removeLast(max(pieces.count - 1, 0))
        (next, room, pieceSize) = (pieces.first, BlockPool.firstPiece, BlockPool.firstPiece)
        for units in freed.indices { freed[units] = nil }
    }
}
