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

    func testTheNewestRowIsFoundInWhateverWayTheyCame() {
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

    func testARemovedRowStaysAway() {
        let cache = RowCache()
        cache.add(batch(1...10, version: 1), root: entity)
        cache.remove(entity, 5)
        XCTAssertNil(version(cache, 5))
        XCTAssertEqual(version(cache, 6), 1)
        cache.forgetAll()
        XCTAssertNil(version(cache, 6))
    }

    /// A chunk that several batches fill holds rows that the batch does not tell of.
    func testASharedChunkGivesOnlyTheRowsOfItsBatch() {
        let cache = RowCache()
        var shared = batch(1...10, version: 1, ownsChunks: false)
        shared.records.removeLast()
        cache.add(shared, root: entity)
        XCTAssertEqual(version(cache, 9), 1)
        XCTAssertNil(version(cache, 10))
    }

    /// A batch that comes again brings nothing: neither older rows over newer ones, nor its memory after that was dropped.
    func testABatchThatComesAgain() {
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

    /// More rows than the cache keeps for nobody: the first ones go, waiting or entered, and the memory is not read again.
    func testSweepingForgetsRowsThatNoObjectUses() {
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
        XCTAssertNil(version(cache, 1), "the cache kept everything")
        XCTAssertEqual(version(cache, 2005), 2, "a row in use was dropped")
        withExtendedLifetime(kept) {}
    }

    /// A row that a save brought while the chunks of a fetch wait lies in a chunk of its own, which may be dropped first.
    func testSweepingWithARowThatWaitsAlone() {
        let cache = RowCache()
        let fetched = batch(1...10, version: 1)
        cache.add(fetched, root: entity)
        do {
            let saved = batch(3...3, version: 2, ownsChunks: false)
            cache.keep(saved.chunks)
            cache.add(saved.records[0], root: entity)
        }
        // Enough that the cache looks for what nobody uses.
        for _ in 0..<80 { cache.keep([RecordChunk(capacity: 1 << 20)]) }
        XCTAssertNil(version(cache, 3), "nobody used the newest row, and the older one must not come back")
        XCTAssertEqual(version(cache, 4), 1)
        withExtendedLifetime(fetched) {}
    }

    /// Rows of a transaction that began before others were saved may be older than those: they do not come in.
    func testRowsOfAnOldStateStayOut() {
        let cache = RowCache()
        let old = cache.state
        cache.add(batch(1...10, version: 1), root: entity, asOf: old)
        XCTAssertEqual(version(cache, 5), 1)
        cache.beginSave([entity.rootIndex])
        XCTAssertNil(version(cache, 5), "a save is about to change it")
        cache.add(batch(6...6, version: 1), root: entity, asOf: cache.state)
        let saved = batch(5...5, version: 2)
        cache.keep(saved.chunks)
        cache.add(saved.records[0], root: entity)
        cache.remove(entity, 7)
        cache.endSave()
        XCTAssertEqual(version(cache, 5), 2)
        XCTAssertEqual(version(cache, 6), 1)
        cache.add(batch(1...20, version: 1), root: entity, asOf: old)
        XCTAssertNil(version(cache, 7), "the save deleted it")
        XCTAssertNil(version(cache, 15))
        XCTAssertEqual(version(cache, 5), 2)
        // What was read since comes in, but no older row over a newer one.
        cache.add(batch(4...20, version: 1, ownsChunks: false), root: entity, asOf: cache.state)
        XCTAssertEqual(version(cache, 15), 1)
        XCTAssertEqual(version(cache, 5), 2)
        cache.add(batch(5...5, version: 1), root: entity)
        XCTAssertEqual(version(cache, 5), 2, "whole chunks wait, and their rows are judged when they are entered")
    }

    /// Others save, which a second thread hears of, while the rows of a save come in: their chunk is no longer the cache's, and
    /// they may be the older ones.
    func testRowsOfASaveThatWasOvertakenStayOut() {
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
            XCTAssertNil(version(cache, 5), "others may have saved it again")
            XCTAssertNil(version(cache, 6), "what was known before the save is older than what it saved")
            XCTAssertNil(version(cache, 7))
            cache.add(batch(6...6, version: 3), root: entity, asOf: cache.state)
            XCTAssertEqual(version(cache, 6), 3, "the next ones come in again")
        }
    }

    /// A row that a save read to compare it, while others saved it once more.
    func testARowThatIsReplacedAsOfAnOldState() {
        let cache = RowCache()
        cache.add(batch(1...10, version: 1), root: entity)
        let state = cache.state
        let read = batch(3...4, version: 2)
        cache.replace(read.records[0], root: entity, asOf: state)
        XCTAssertEqual(version(cache, 3), 2)
        cache.forget(entity, 9)
        cache.replace(read.records[1], root: entity, asOf: state)
        XCTAssertNil(version(cache, 4), "others may have saved it since")
        XCTAssertEqual(version(cache, 3), 2)
        // Also one whose version began anew.
        let again = batch(3...3, version: 1)
        cache.replace(again.records[0], root: entity, asOf: cache.state)
        XCTAssertEqual(version(cache, 3), 1)
        withExtendedLifetime((read, again)) {}
    }
}
