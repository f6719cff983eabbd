import CorestoneGraph
import CorestoneModel

/// A row that lies in memory, with the chunk that keeps it there.
struct Node {
    let record: Record
    let chunk: RecordChunk

    init(_ record: Record) { (self.record, chunk) = (record, record.chunk.takeUnretainedValue()) }
}

/// The rows of one inheritance tree by key, and what is known of their values.
///
/// Rows lie in blocks of neighbouring keys, so that a walk over all of them looks few things up.
final class NodeTree {
    private var blocks: [Int64: NodeBlock] = [:]
    /// The numbers of the blocks, and of some that are no more, ascending; nil when they have to be sorted anew.
    private var numbers: [Int64]? = []
    private var last: (number: Int64, block: NodeBlock)?
    private(set) var count = 0
    /// The highest key that was handed out.
    var lastKey: Int64 = 0
    var uniques: [UniqueIndex] = []
    /// Of to-one relationships of the tree's entities; made when somebody asks who points to a row.
    var targets: [TargetIndex] = []

    subscript(_ key: Int64) -> Node? { block(key >> NodeBlock.bits)?.nodes[Int(key & NodeBlock.mask)] }

    private func block(_ number: Int64) -> NodeBlock? {
        if let last, last.number == number { return last.block }
        guard let block = blocks[number] else { return nil }
        last = (number, block)
        return block
    }

    /// Returns what was there.
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
        // Others stay behind in the list, which leads to nothing there.
        if numbers?.last == number { numbers?.removeLast() }
    }

    /// Hands `body` the rows in the order of keys, until it says that it has enough.
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

/// The rows of a few neighbouring keys.
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
