import CorestoneGraph

/// A row that lies in memory, with the chunk that keeps it there.
struct Node {
    let record: Record
    let chunk: RecordChunk

    init(_ record: Record) { (self.record, chunk) = (record, record.chunk.takeUnretainedValue()) }
}

/// The rows of one inheritance tree.
struct NodeTree {
    private var nodes: [Int64: Node] = [:]
    /// In ascending order; nil when they have to be sorted anew.
    private var sorted: [Int64]? = []
    /// The highest key that was handed out.
    var lastKey: Int64 = 0

    subscript(_ key: Int64) -> Node? { nodes[key] }

    /// Returns what was there.
    mutating func put(_ node: Node?, at key: Int64) -> Node? {
        guard let node else {
            let former = nodes.removeValue(forKey: key)
            if former != nil { sorted = nil }
            return former
        }
        let former = nodes.updateValue(node, forKey: key)
        if former == nil {
            if key > sorted?.last ?? .min { sorted?.append(key) } else { sorted = nil }
            lastKey = max(lastKey, key)
        }
        return former
    }

    /// In the order of keys.
    mutating func keys() -> [Int64] {
        if let sorted { return sorted }
        let keys = nodes.keys.sorted()
        sorted = keys
        return keys
    }

    func forEach(_ body: (Node) throws -> Void) rethrows { for node in nodes.values { try body(node) } }
}
