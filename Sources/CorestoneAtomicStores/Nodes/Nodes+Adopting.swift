import CorestoneGraph
import CorestoneModel

extension Nodes {
    /// Replaces the content with a state of the same store that another writer saved.
    ///
    /// A row with a higher version in the new state keeps that version. An unchanged row keeps its former version. A
    /// row with other values or members is assigned a higher version, even if the file does not store versions, so that
    /// a save detects the change.
    func adoptContent(_ others: Nodes) {
        let listed = listedRelationships
        for root in model.entities where root.parent == nil {
            for key in others.keys(of: root) {
                guard let own = node(root, key), let other = others.node(root, key) else { continue }
                if other.record.version > own.record.version { continue }
                if isSame(own, other), hasSameMembers(key, own, others, listed) {
                    others.replace(own, at: key, root)
                } else {
                    others.replace(Nodes.copy(other, version: RowVersion.next(own.record.version)), at: key, root)
                }
            }
            others.reserveKeys(of: root, upTo: lastKey(of: root))
        }
        replaceContent(others)
    }

    private func hasSameMembers(_ key: Int64, _ node: Node, _ others: Nodes, _ listed: [Relationship]) -> Bool {
        let entity = model.entities[Int(node.record.header.pointee.entity)]
        return listed.allSatisfy {
            !entity.isKind(of: $0.entity) || members($0, key) == others.members($0, key)
        }
    }

    private func isSame(_ a: Node, _ b: Node) -> Bool {
        let entity = a.record.header.pointee.entity
        guard entity == b.record.header.pointee.entity else { return false }
        let layout = model.entities[Int(entity)].layout
        return (0..<layout.slotCount).allSatisfy { slot in
            a.record.isEqual(to: b.record, slot, layout.slots[slot])
                // Equal decimals can have different representations, which some formats do not preserve.
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
