/// An ordered list of rows in blocks.
///
/// An insertion or removal moves the row references of at most one block. A copy shares all blocks except those that
/// change afterwards.
struct RowList: Sendable {
    private static let most = 512

    private var blocks: ContiguousArray<ContiguousArray<ResultsRow>> = []
    /// The position of the first row of each block.
    private var starts: ContiguousArray<Int> = []
    private(set) var count = 0

    init() {}

    init(_ rows: [ResultsRow]) {
        count = rows.count
        for start in stride(from: 0, to: count, by: RowList.most / 2) {
            starts.append(start)
            blocks.append(ContiguousArray(rows[start..<min(start + RowList.most / 2, count)]))
        }
    }

    var isEmpty: Bool { count == 0 }
    var last: ResultsRow? { blocks.last?.last }
    var all: [ResultsRow] { blocks.flatMap { $0 } }

    subscript(place: Int) -> ResultsRow {
        let block = block(of: place)
        return blocks[block][place - starts[block]]
    }

    subscript(places: Range<Int>) -> [ResultsRow] { places.map { self[$0] } }

    /// Returns the last block that begins at or before a position.
    private func block(of place: Int) -> Int {
        var (low, high) = (0, blocks.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= place { low = middle } else { high = middle }
        }
        return low
    }

    /// Returns the number of leading rows that satisfy a condition, which later rows must not satisfy.
    func partition(_ isBefore: (ResultsRow) throws -> Bool) rethrows -> Int {
        let block = try RowList.partition(blocks.count) { try isBefore(blocks[$0][blocks[$0].count - 1]) }
        if block == blocks.count { return count }
        return try starts[block] + RowList.partition(blocks[block].count) { try isBefore(blocks[block][$0]) }
    }

    static func partition(_ count: Int, _ isBefore: (Int) throws -> Bool) rethrows -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if try isBefore(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func insert(_ row: ResultsRow, at place: Int) {
        if blocks.isEmpty { return self = RowList([row]) }
        let block = block(of: place)
        blocks[block].insert(row, at: place - starts[block])
        if blocks[block].count > RowList.most {
            let half = RowList.most / 2
            blocks.insert(ContiguousArray(blocks[block][half...]), at: block + 1)
            blocks[block].removeSubrange(half...)
            starts.insert(starts[block] + half - 1, at: block + 1)
        }
        count += 1
        for later in starts.indices.dropFirst(block + 1) { starts[later] += 1 }
    }

    mutating func remove(at place: Int) {
        let block = block(of: place)
        blocks[block].remove(at: place - starts[block])
        count -= 1
        for later in starts.indices.dropFirst(block + 1) { starts[later] -= 1 }
        if blocks[block].isEmpty {
            blocks.remove(at: block)
            starts.remove(at: block)
        }
    }

    mutating func replace(at place: Int, with row: ResultsRow) {
        let block = block(of: place)
        blocks[block][place - starts[block]] = row
    }
}
