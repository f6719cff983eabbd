import XCTest

@testable import CorestoneGraph

final class BlockPoolTests: XCTestCase {
    /// Blocks of all sizes, allocated and freed at random: they do not overlap, and keep the bytes written to them.
    func testBlockPoolBlocksDoNotOverlap() {
        let pool = BlockPool()
        var blocks: [(place: UnsafeMutableRawPointer, size: Int, mark: UInt8)] = []
        for step in 0..<30_000 {
            // From time to time all blocks are freed, so that the pool starts empty.
            if step % 7_000 == 6_999 { while let last = blocks.popLast() { end(last, pool) } }
            if blocks.count > 2_000 || (step % 3 == 0 && !blocks.isEmpty) {
                end(blocks.remove(at: Int.random(in: 0..<blocks.count)), pool)
            } else {
                let size = Int.random(in: 1...1_500), mark = UInt8.random(in: 0...255)
                let place = pool.allocate(size)
                XCTAssertEqual(UInt(bitPattern: place) % 16, 0)
                memset(place, Int32(mark), size)
                blocks.append((place, size, mark))
            }
        }
        for block in blocks { end(block, pool) }
    }

    private func end(_ block: (place: UnsafeMutableRawPointer, size: Int, mark: UInt8), _ pool: BlockPool) {
        let bytes = UnsafeRawBufferPointer(start: block.place, count: block.size)
        XCTAssertTrue(bytes.allSatisfy { $0 == block.mark }, "a block of \(block.size) bytes was overwritten")
        pool.free(block.place, block.size)
    }
}
