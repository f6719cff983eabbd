import Corestone
import XCTest

@testable import CorestoneGraph

final class RowCacheTests: XCTestCase {
    private var entity: Entity!
    private var model: Model!

    override func setUpWithError() throws {
        model = Model()
        entity = try model.addEntity(named: "Row")
        try entity.addAttribute(named: "number", type: .integer64)
        try model.freeze()
    }

    private func batch(_ keys: ClosedRange<Int64>, version: Int32, ownsChunks: Bool = true) -> RowBatch {
        var (writer, batch) = (RecordWriter(), RowBatch())
        for key in keys {
            writer.begin(primaryKey: key, version: version, entity: entity)
            batch.records.append(writer.finish())
        }
        batch.chunks = writer.chunks
        batch.ownsChunks = ownsChunks
        return batch
    }

    private func version(_ cache: RowCache, _ key: Int64) -> Int32? { cache.row(entity, key) { $0.version } }

    func testRowCacheReturnsTheNewestOfOverlappingBatches() {
        let cache = RowCache()
        cache.add(batch(1...1000, version: 1), root: entity)
        cache.add(batch(500...600, version: 2), root: entity)
        let single = batch(550...550, version: 3, ownsChunks: false)
        cache.add(single, root: entity)
        cache.add(batch(560...570, version: 4), root: entity)
        XCTAssertEqual(version(cache, 1), 1)
        XCTAssertEqual(version(cache, 500), 2)
        XCTAssertEqual(version(cache, 550), 3)
        XCTAssertEqual(version(cache, 565), 4)
        XCTAssertNil(version(cache, 1001))
    }

    func testRowCacheDoesNotReturnRemovedRows() {
        let cache = RowCache()
        cache.add(batch(1...10, version: 1), root: entity)
        cache.remove(entity, 5)
        XCTAssertNil(version(cache, 5))
        XCTAssertEqual(version(cache, 6), 1)
        cache.forgetAll()
        XCTAssertNil(version(cache, 6))
    }

    /// A chunk that is shared by several batches also contains rows of other batches.
    func testRowCacheAddsOnlyTheRowsOfItsBatchFromASharedChunk() {
        let cache = RowCache()
        var shared = batch(1...10, version: 1, ownsChunks: false)
        shared.records.removeLast()
        cache.add(shared, root: entity)
        XCTAssertEqual(version(cache, 9), 1)
        XCTAssertNil(version(cache, 10))
    }

    /// A batch that is added twice has no effect: it does not replace newer rows, and its memory is released once.
    func testBatchAddedTwiceDoesNotReplaceNewerRows() {
        let cache = RowCache()
        let first = batch(1...10, version: 1)
        cache.add(first, root: entity)
        cache.add(batch(5...5, version: 2, ownsChunks: false), root: entity)
        cache.add(first, root: entity)
        XCTAssertEqual(version(cache, 5), 2)
        var twice: RowBatch? = batch(100...1100, version: 1)
        for _ in 0..<2 { if let twice { cache.add(twice, root: entity) } }
        twice = nil
        var next: Int64 = 10_000
        for _ in 0..<80 {
            cache.add(batch(next...(next + 30_000), version: 1), root: entity)
            next += 40_000
        }
        XCTAssertNil(version(cache, 100))
    }

    /// More unused rows than the cache keeps: the oldest are removed, and their memory is not read again.
    func testSweepRemovesUnusedRows() {
        let cache = RowCache()
        cache.add(batch(1...1000, version: 1), root: entity)
        XCTAssertEqual(version(cache, 1), 1)
        let kept = batch(2000...2010, version: 2)
        cache.add(kept, root: entity)
        var next: Int64 = 10_000
        for _ in 0..<80 {
            cache.add(batch(next...(next + 30_000), version: 1), root: entity)
            next += 40_000
        }
        XCTAssertNil(version(cache, 1), "unused rows were kept")
        XCTAssertEqual(version(cache, 2005), 2, "a row in use was removed")
        withExtendedLifetime(kept) {}
    }

    /// A row that is saved while the chunks of a fetch are pending has its own chunk, which may be removed first.
    func testSweepDoesNotRestoreAnOlderRow() {
        let cache = RowCache()
        let fetched = batch(1...10, version: 1)
        cache.add(fetched, root: entity)
        do {
            let saved = batch(3...3, version: 2, ownsChunks: false)
            cache.keep(saved.chunks)
            cache.add(saved.records[0], root: entity)
        }
        // Enough memory for a sweep.
        for _ in 0..<80 { cache.keep([RecordChunk(capacity: 1 << 20)]) }
        XCTAssertNil(version(cache, 3), "the newest row was unused, and the older row must not return")
        XCTAssertEqual(version(cache, 4), 1)
        withExtendedLifetime(fetched) {}
    }

    /// Rows of a transaction that began before a save may be older than the saved rows, so they are not added.
    func testRowsOfAnOlderSnapshotAreNotAdded() {
        let cache = RowCache()
        let old = cache.state
        cache.add(batch(1...10, version: 1), root: entity, asOf: old)
        XCTAssertEqual(version(cache, 5), 1)
        cache.beginSave([entity.rootIndex])
        XCTAssertNil(version(cache, 5), "a save is about to change the row")
        cache.add(batch(6...6, version: 1), root: entity, asOf: cache.state)
        let saved = batch(5...5, version: 2)
        cache.keep(saved.chunks)
        cache.add(saved.records[0], root: entity)
        cache.remove(entity, 7)
        cache.endSave()
        XCTAssertEqual(version(cache, 5), 2)
        XCTAssertEqual(version(cache, 6), 1)
        cache.add(batch(1...20, version: 1), root: entity, asOf: old)
        XCTAssertNil(version(cache, 7), "the save deleted the row")
        XCTAssertNil(version(cache, 15))
        XCTAssertEqual(version(cache, 5), 2)
        // Rows that were read since are added, but older rows do not replace newer ones.
        cache.add(batch(4...20, version: 1, ownsChunks: false), root: entity, asOf: cache.state)
        XCTAssertEqual(version(cache, 15), 1)
        XCTAssertEqual(version(cache, 5), 2)
        cache.add(batch(5...5, version: 1), root: entity)
        XCTAssertEqual(version(cache, 5), 2, "rows of pending chunks are compared when they are added")
    }

    /// Another save is reported by a second thread while the rows of a save are added. The cache has dropped their
    /// chunk, and they may be older than those of the other save.
    func testRowsOfAnOvertakenSaveAreNotAdded() {
        for isAll in [true, false] {
            let cache = RowCache()
            cache.add(batch(1...10, version: 1), root: entity)
            cache.beginSave([entity.rootIndex])
            var saved: RowBatch? = batch(5...6, version: 2)
            if let saved {
                cache.keep(saved.chunks)
                cache.add(saved.records[0], root: entity)
                if isAll { cache.forgetAll() } else { cache.forget(entity, 5) }
                cache.add(saved.records[1], root: entity)
                cache.add(batch(7...7, version: 2), root: entity)
            }
            cache.endSave()
            saved = nil
            XCTAssertNil(version(cache, 5), "another writer may have saved the row again")
            XCTAssertNil(version(cache, 6), "the row from before the save is stale")
            XCTAssertNil(version(cache, 7))
            cache.add(batch(6...6, version: 3), root: entity, asOf: cache.state)
            XCTAssertEqual(version(cache, 6), 3, "later rows are added")
        }
    }

    /// A row that a save read for comparison, while another writer saved it again.
    func testRowReadBeforeAnotherSaveIsNotCached() {
        let cache = RowCache()
        cache.add(batch(1...10, version: 1), root: entity)
        let state = cache.state
        let read = batch(3...4, version: 2)
        cache.replace(read.records[0], root: entity, asOf: state)
        XCTAssertEqual(version(cache, 3), 2)
        cache.forget(entity, 9)
        cache.replace(read.records[1], root: entity, asOf: state)
        XCTAssertNil(version(cache, 4), "another writer may have saved the row since")
        XCTAssertEqual(version(cache, 3), 2)
        // Also a row whose version starts at 1 again.
        let again = batch(3...3, version: 1)
        cache.replace(again.records[0], root: entity, asOf: cache.state)
        XCTAssertEqual(version(cache, 3), 1)
        withExtendedLifetime((read, again)) {}
    }
}
