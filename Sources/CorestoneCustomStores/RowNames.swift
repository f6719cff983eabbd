import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The known references and entities of a custom store's rows. Thread-safe.
///
/// Entities are recorded only for trees with several entities.
package final class RowNames: @unchecked Sendable {
    package let model: Model
    let table: ReferenceTable
    /// Whether an entity tree has several entities, by the index of its root.
    private let isMixed: [Bool]

    struct RecordedEntity {
        let entity: UInt32
        /// Whether the store returned the entity, or a save inserted the row. If false, the entity is a guess from a
        /// reference or an object ID.
        let isCertain: Bool
    }

    private let entities: Locked<[[Int64: RecordedEntity]]>

    init(_ model: Model, _ table: ReferenceTable) {
        (self.model, self.table) = (model, table)
        isMixed = model.entities.map { !$0.withDescendants.dropFirst().isEmpty }
        entities = Locked(Array(repeating: [:], count: model.entities.count))
    }

    /// Returns the entity of a row, or nil if it is unknown.
    func entity(of key: Int64, _ root: Entity) -> Entity? {
        if !isMixed[Int(root.rootIndex)] { return root.root }
        return entities.withLock { $0[Int(root.rootIndex)][key] }.map { model.entities[Int($0.entity)] }
    }

    /// Returns the reference of a row.
    ///
    /// - Parameter asked: The assumed entity, which is used if the entity is unknown.
    func row(_ key: Int64, _ asked: Entity) -> RowReference {
        RowReference(entity(of: key, asked) ?? asked, table.reference(of: key, asked.root))
    }

    /// Records the entity of a row that the store returned or that a save inserts.
    ///
    /// - Returns: A different entity that was recorded as certain before, and remains recorded; otherwise nil.
    @discardableResult
    func note(_ entity: Entity, _ key: Int64) -> Entity? {
        let root = Int(entity.rootIndex)
        if !isMixed[root] { return nil }
        return entities.withLock { entities in
            if let before = entities[root][key], before.isCertain, before.entity != entity.index {
                return model.entities[Int(before.entity)]
            }
            entities[root][key] = RecordedEntity(entity: entity.index, isCertain: true)
            return nil
        }
    }

    func recordedEntity(_ key: Int64, _ root: Entity) -> RecordedEntity? {
        isMixed[Int(root.rootIndex)] ? entities.withLock { $0[Int(root.rootIndex)][key] } : nil
    }

    /// Restores the previous entity after a row was rejected.
    func restore(_ key: Int64, _ root: Entity, _ before: RecordedEntity?) {
        if isMixed[Int(root.rootIndex)] { entities.withLock { $0[Int(root.rootIndex)][key] = before } }
    }

    /// Records an assumed entity, unless an entity is already recorded.
    func assume(_ entity: Entity, _ key: Int64) {
        let root = Int(entity.rootIndex)
        if !isMixed[root] { return }
        entities.withLock {
            if $0[root][key] == nil { $0[root][key] = RecordedEntity(entity: entity.index, isCertain: false) }
        }
    }

    func isCertain(_ key: Int64, _ root: Entity) -> Bool {
        !isMixed[Int(root.rootIndex)] || entities.withLock { $0[Int(root.rootIndex)][key]?.isCertain } == true
    }

    func forget(_ key: Int64, _ root: Entity) {
        if isMixed[Int(root.rootIndex)] { entities.withLock { $0[Int(root.rootIndex)][key] = nil } }
    }
}
