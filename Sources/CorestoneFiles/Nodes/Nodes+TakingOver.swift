import CorestoneGraph
import CorestoneModel

extension Nodes {
    /// Becomes what another process has made of the same store.
    ///
    /// A row that is what it was keeps its version, and one that is not gets a higher one, whatever the file says of versions: by
    /// them a save finds out what was changed beneath it.
    func takeOver(_ others: Nodes) {
        for root in model.entities where root.parent == nil {
            for key in others.keys(of: root) {
                guard let own = node(root, key), let other = others.node(root, key) else { continue }
                if isSame(own, other) {
                    others.replace(own, at: key, root)
                } else if other.record.version <= own.record.version {
                    others.replace(Nodes.copy(other, version: own.record.version &+ 1), at: key, root)
                }
            }
            others.reserveKeys(of: root, upTo: lastKey(of: root))
        }
        become(others)
    }

    private func isSame(_ a: Node, _ b: Node) -> Bool {
        let entity = a.record.header.pointee.entity
        guard entity == b.record.header.pointee.entity else { return false }
        let layout = model.entities[Int(entity)].layout
        return (0..<layout.slotCount).allSatisfy { slot in
            a.record.isEqual(to: b.record, slot, layout.slots[slot])
                // One number may have several forms, of which not every format keeps which.
                || layout.slots[slot].kind == .decimal
                    && a.record.view(slot, layout.slots[slot]).propertyValue
                        == b.record.view(slot, layout.slots[slot]).propertyValue
        }
    }

    private static func copy(_ node: Node, version: Int32) -> Node {
        var writer = RecordWriter(expectedBytes: Int(node.record.header.pointee.size))
        writer.begin(copying: node.record, version: version)
        let record = writer.finish()
        return withExtendedLifetime(writer.chunks) { Node(record) }
    }
}
