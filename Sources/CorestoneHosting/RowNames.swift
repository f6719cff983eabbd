import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// What is known of the rows of a host's store: references by key, and entities where a tree has several. Any thread.
package final class RowNames: @unchecked Sendable {
    package let model: Model
    let table: ReferenceTable
    /// Whether a tree, by the index of its root, has rows of several entities.
    private let isMixed: [Bool]

    struct Known {
        let entity: UInt32
        /// Whether the store said so; else somebody named the row so.
        let isCertain: Bool
    }

    private let known: Locked<[[Int64: Known]]>

    init(_ model: Model, _ table: ReferenceTable) {
        (self.model, self.table) = (model, table)
        isMixed = model.entities.map { !$0.withDescendants.dropFirst().isEmpty }
        known = Locked(Array(repeating: [:], count: model.entities.count))
    }

    /// The entity of a row, as far as it is known.
    func entity(of key: Int64, _ root: Entity) -> Entity? {
        if !isMixed[Int(root.rootIndex)] { return root.root }
        return known.withLock { $0[Int(root.rootIndex)][key] }.map { model.entities[Int($0.entity)] }
    }

    /// - Parameter asked: the entity that it is believed to be of.
    func row(_ key: Int64, _ asked: Entity) -> RowReference {
        RowReference(entity(of: key, asked) ?? asked, table.reference(of: key, asked.root))
    }

    /// The store says of which entity a row is.
    /// - Returns: the entity that it said before, if that was another one.
    @discardableResult
    func note(_ entity: Entity, _ key: Int64) -> Entity? {
        let root = Int(entity.rootIndex)
        if !isMixed[root] { return nil }
        return known.withLock { known in
            if let before = known[root][key], before.isCertain, before.entity != entity.index {
                return model.entities[Int(before.entity)]
            }
            known[root][key] = Known(entity: entity.index, isCertain: true)
            return nil
        }
    }

    func known(_ key: Int64, _ root: Entity) -> Known? {
        isMixed[Int(root.rootIndex)] ? known.withLock { $0[Int(root.rootIndex)][key] } : nil
    }

    /// What the store said is as if it had not: it was refused.
    func restore(_ key: Int64, _ root: Entity, _ before: Known?) {
        if isMixed[Int(root.rootIndex)] { known.withLock { $0[Int(root.rootIndex)][key] = before } }
    }

    /// Somebody believes that a row is of an entity.
    func guess(_ entity: Entity, _ key: Int64) {
        let root = Int(entity.rootIndex)
        if !isMixed[root] { return }
        known.withLock { if $0[root][key] == nil { $0[root][key] = Known(entity: entity.index, isCertain: false) } }
    }

    func isCertain(_ key: Int64, _ root: Entity) -> Bool {
        !isMixed[Int(root.rootIndex)] || known.withLock { $0[Int(root.rootIndex)][key]?.isCertain } == true
    }

    func forget(_ key: Int64, _ root: Entity) {
        if isMixed[Int(root.rootIndex)] { known.withLock { $0[Int(root.rootIndex)][key] = nil } }
    }
}
