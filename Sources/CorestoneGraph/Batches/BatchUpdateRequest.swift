import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A request to set attributes of all rows that satisfy a predicate.
///
/// The update is one statement if the store supports it. Every matching row is counted and gets a new version, even if
/// its values do not change. Unsaved changes of the row in a context that does not merge the update therefore have a
/// conflict.
public final class BatchUpdateRequest: BatchRequest, @unchecked Sendable {
    /// The predicate of the rows; nil selects every row.
    public var predicate: Predicate?
    /// Whether rows of subentities are updated too.
    public var includesSubentities = true
    /// The new values by names of attributes or paths of composite elements.
    ///
    /// An expression is computed from the values that the row had before the update.
    public var propertiesToUpdate: [String: Expression]

    public init(entity: Entity, predicate: Predicate? = nil, propertiesToUpdate: [String: Expression] = [:]) {
        self.predicate = predicate
        self.propertiesToUpdate = propertiesToUpdate
        super.init(entity: entity)
    }

    public override var requestType: UInt32 { RequestType.batchUpdate.rawValue }

    override func write(_ run: BatchRun, _ changes: inout ExternalChanges) throws {
        let entity = run.entity
        let settings = try settings(of: entity)
        let request = FetchRequest(entity: entity, predicate: predicate)
        request.includesSubentities = includesSubentities
        if try run.transaction.update(request.storeFetch(.identifiers), settings, &changes) { return }
        // All rows are found before the first one is changed.
        let ids = try run.makeContext().fetchIDs(request).filter { $0.store === run.store }
        for start in stride(from: 0, to: ids.count, by: BatchRun.size) {
            try run.checkCancelled()
            let context = run.makeContext()
            let objects = try ids[start..<min(start + BatchRun.size, ids.count)].map { try context.object(with: $0) }
            try context.faultLoader.loadRows(of: objects)
            for object in objects { try apply(settings, to: object) }
            context.mergeState.passesUniqueValues = settings.contains { entity.isUnique($0.slot) }
            try run.update(objects, in: context, &changes)
        }
    }

    private func settings(of entity: Entity) throws -> [BatchSetting] {
        guard !propertiesToUpdate.isEmpty else {
            throw CoreError(
                .invalidArgument,
                "the batch update of \(entity.name) does not set a property; set one with cst_batch_update_set "
                    + "(values, propertiesToUpdate)",
                entity: entity.name, key: "properties")
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
            } catch let error as CoreError { throw error.naming(object) }
        }
        for (slot, value) in values { try object.set(value, slot: slot) }
    }
}

/// The new value of one attribute in a batch update: a constant of the attribute's type, or an expression.
package struct BatchSetting {
    package let slot: Int
    package let value: Expression
}

extension Entity {
    /// Whether an attribute is part of a unique constraint.
    package func isUnique(_ slot: Int) -> Bool {
        allUniqueConstraints.contains { slots(of: $0.attributes).contains(slot) }
    }

    /// Converts a value of an attribute to the values of the attribute's leaves, by slot.
    ///
    /// Throws if a required value is null.
    package func requiredBatchValues(
        of value: PropertyValue, for slot: Int
    ) throws -> [(slot: Int, value: PropertyValue)] {
        let values = try batchValues(of: value, for: slot)
        for (leaf, value) in values where value.isNull && layout.slots[leaf].conditions.contains(.required) {
            throw CoreError(
                .validation, code: .validationMissingMandatoryProperty,
                "\(name).\(properties[leaf].path) is required, but the new value is null; pass a value or an "
                    + "expression that is not null for any row", entity: name,
                key: properties[leaf].path)
        }
        return values
    }
}
