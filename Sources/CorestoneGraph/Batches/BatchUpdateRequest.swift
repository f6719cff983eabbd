import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Sets attributes of all rows that a predicate holds for.
///
/// Where the store can, by one statement. Every row that is found counts, also one that had the values already, and gets the next
/// version, so that other contexts' saves of it meet a conflict.
public final class BatchUpdateRequest: BatchRequest, @unchecked Sendable {
    /// nil: every row.
    public var predicate: Predicate?
    /// Rows of entities that inherit from `entity` too.
    public var includesSubentities = true
    /// By the names of attributes, or paths of elements of composite ones: a constant, or an expression that is computed from the
    /// row as it was.
    public var propertiesToUpdate: [String: Expression]

    public init(entity: Entity, predicate: Predicate? = nil, propertiesToUpdate: [String: Expression] = [:]) {
        self.predicate = predicate
        self.propertiesToUpdate = propertiesToUpdate
        super.init(entity: entity)
    }

    public override var requestType: UInt32 { RequestType.batchUpdate.rawValue }

    override func write(_ run: BatchRun, _ changes: inout ForeignChanges) throws {
        let entity = run.entity
        let settings = try settings(of: entity)
        let request = FetchRequest(entity: entity, predicate: predicate)
        request.includesSubentities = includesSubentities
        if try run.transaction.update(request.storeFetch(.identifiers), settings, &changes) { return }
        // All are found before the first is changed.
        let ids = try run.makeContext().fetchIDs(request).filter { $0.store === run.store }
        for start in stride(from: 0, to: ids.count, by: BatchRun.size) {
            try run.checkCancelled()
            let context = run.makeContext()
            let objects = try ids[start..<min(start + BatchRun.size, ids.count)].map { try context.object(with: $0) }
            try context.loadRows(of: objects)
            for object in objects { try apply(settings, to: object) }
            context.mergeState.passesUniqueValues = settings.contains { entity.isUnique($0.slot) }
            try run.update(objects, in: context, &changes)
        }
    }

    private func settings(of entity: Entity) throws -> [BatchSetting] {
        guard !propertiesToUpdate.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "the batch update of \(entity.name) sets no properties; pass the properties to update",
                entity: entity.name)
        }
        var found: [BatchSetting] = []
        for (name, expression) in propertiesToUpdate.sorted(by: { $0.key < $1.key }) {
            let slot = try entity.batchSlot(of: name)
            if let value = expression.constantValue {
                found += try entity.requiredBatchValues(of: value, for: slot).map {
                    BatchSetting(slot: $0.slot, value: .constant($0.value))
                }
            } else {
                found.append(BatchSetting(slot: slot, value: expression))
            }
        }
        for setting in found where found.count(where: { $0.slot == setting.slot }) > 1 {
            let path = entity.properties[setting.slot].path
            throw CoreError(
                .invalidArgument,
                "the batch update of \(entity.name) sets \"\(path)\" twice; set the composite attribute or its "
                    + "elements, not both",
                entity: entity.name, key: path)
        }
        return found
    }

    private func apply(_ settings: [BatchSetting], to object: ManagedObject) throws {
        let values = try settings.flatMap { setting in
            if let value = setting.value.constantValue { return [(slot: setting.slot, value: value)] }
            do {
                let value = try setting.value.value(with: .object(object), arithmetic: .nilPropagating)
                return try object.entity.requiredBatchValues(of: value, for: setting.slot)
            } catch let error as CoreError { throw error.about(object) }
        }
        for (slot, value) in values { try object.set(value, slot: slot) }
    }
}

/// What a batch update gives one attribute: a constant as the attribute holds it, or what has to be computed.
package struct BatchSetting {
    package let slot: Int
    package let value: Expression
}

extension Entity {
    /// Whether an attribute is part of what has to be unique.
    package func isUnique(_ slot: Int) -> Bool {
        allUniqueConstraints.contains { slots(of: $0.attributes).contains(slot) }
    }

    /// The values of an attribute's leaves by slot, none of them missing.
    package func requiredBatchValues(
        of value: PropertyValue, for slot: Int
    ) throws -> [(slot: Int, value: PropertyValue)] {
        let values = try batchValues(of: value, for: slot)
        for (leaf, value) in values where value.isNull && layout.slots[leaf].conditions.contains(.required) {
            throw missingInBatch(leaf)
        }
        return values
    }
}
