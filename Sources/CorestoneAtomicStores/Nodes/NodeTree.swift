import CorestoneGraph
import CorestoneModel

/// A row, with the chunk of memory that contains it.
struct Node {
    let record: Record
    let chunk: RecordChunk

    init(_ record: Record) { (self.record, chunk) = (record, record.chunk.takeUnretainedValue()) }
}

/// The rows of one entity tree by primary key, with their indexes.
///
/// Rows are grouped in blocks of adjacent keys, so that an iteration needs few dictionary lookups.
final class NodeTree {
    private var blocks: [Int64: NodeBlock] = [:]
    /// The numbers of the blocks and of some removed blocks, in ascending order; nil if they must be sorted again.
    private var numbers: [Int64]? = []
    private var last: (number: Int64, block: NodeBlock)?
    private(set) var count = 0
    /// The highest primary key that was ever assigned.
    var lastKey: Int64 = 0
    var uniques: [UniqueIndex] = []
    /// The indexes of to-one relationships, created when the referring rows of a target are first needed.
    var targets: [TargetIndex] = []

    subscript(_ key: Int64) -> Node? { block(key >> NodeBlock.bits)?.nodes[Int(key & NodeBlock.mask)] }

    private func block(_ number: Int64) -> NodeBlock? {
        if let last, last.number == number { return last.block }
        guard let block = blocks[number] else { return nil }
        last = (number, block)
        return block
    }

    /// Sets or removes the row of a key, and returns the previous row.
    func put(_ node: Node?, at key: Int64) -> Node? {
        let (number, place) = (key >> NodeBlock.bits, Int(key & NodeBlock.mask))
        guard let node else {
            guard let block = block(number), let former = block.nodes[place] else { return nil }
            block.nodes[place] = nil
            block.count -= 1
            count -= 1
            if block.count == 0 { drop(number) }
            return former
        }
        let block = block(number) ?? makeBlock(number)
        let former = block.nodes[place]
        block.nodes[place] = node
        if former == nil {
            block.count += 1
            count += 1
            lastKey = max(lastKey, key)
        }
        return former
    }

    private func makeBlock(_ number: Int64) -> NodeBlock {
        let block = NodeBlock()
        blocks[number] = block
        if number > numbers?.last ?? .min { numbers?.append(number) } else { numbers = nil }
        last = (number, block)
        return block
    }

    private func drop(_ number: Int64) {
        blocks[number] = nil
        last = nil
        // Other removed numbers stay in the list, and `forEach` skips them.
        if numbers?.last == number { numbers?.removeLast() }
    }

    /// Calls `body` with the rows in the order of primary keys, until `body` returns false.
    func forEach(_ body: (Record) throws -> Bool) rethrows {
        let order = numbers ?? blocks.keys.sorted()
        numbers = order
        for number in order {
            guard let block = blocks[number] else { continue }
            for place in 0..<NodeBlock.size {
                guard let record = block.nodes[place]?.record else { continue }
                if try !body(record) { return }
            }
        }
    }
}

/// The rows of a block of adjacent keys.
private final class NodeBlock {
    static let bits: Int64 = 4
    static let size = 1 << Int(bits)
    static let mask: Int64 = 1 << bits - 1

    let nodes = UnsafeMutablePointer<Node?>.allocate(capacity: size)
    var count = 0

    init() { nodes.initialize(repeating: nil, count: NodeBlock.size) }

    deinit {
        nodes.deinitialize(count: NodeBlock.size)
        nodes.deallocate()
    }
}
