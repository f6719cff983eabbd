/// A pool of small memory blocks for the objects of one context: changed values, targets, members.
///
/// The blocks are packed into large chunks, so that a context with a hundred thousand new objects uses only a few huge
/// pages. Freed blocks are reused. When the last block in use is freed, all chunks except the first are freed. Used on
/// the context's queue.
final class BlockPool {
    /// The freed blocks by size in units, each linked to the next by its first word.
    private var freed: [UnsafeMutableRawPointer?] = Array(repeating: nil, count: BlockPool.largest / BlockPool.unit + 1)
    private var pieces: [UnsafeMutableRawPointer] = []
    private var next: UnsafeMutableRawPointer?
    private var room = 0
    private var pieceSize = 0
    private var live = 0

    private static let unit = 16
    /// The maximum size of a pooled block in bytes. Larger blocks are allocated individually.
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

    /// Frees a block.
    ///
    /// - Parameter bytes: The size with which the block was allocated.
    func free(_ block: UnsafeMutableRawPointer, _ bytes: Int) {
        if bytes > BlockPool.largest { return freeBlock(block) }
        live -= 1
        if live == 0 { return removeAll() }
        let units = (bytes + BlockPool.unit - 1) / BlockPool.unit
        block.storeBytes(of: freed[units], as: UnsafeMutableRawPointer?.self)
        freed[units] = block
    }

    /// Resets the pool to its first chunk, after the last block was freed.
    private func removeAll() {
        for piece in pieces.dropFirst() { freeBlock(piece) }
        pieces.removeLast(max(pieces.count - 1, 0))
        (next, room, pieceSize) = (pieces.first, BlockPool.firstPiece, BlockPool.firstPiece)
        for units in freed.indices { freed[units] = nil }
    }
}
