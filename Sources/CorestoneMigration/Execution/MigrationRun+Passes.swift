import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension MigrationRun {
    /// The number of source objects in a batch.
    private static let batchSize = 500
    /// The number of IDs that are read with one request. It is large, because each request must skip the rows of all
    /// previous requests.
    private static let windowSize = 50_000

    /// Migrates all objects and saves the destination.
    func execute() throws {
        sourceContext.savesUnvalidated = true
        destinationContext.savesUnvalidated = runsInBatches
        for plan in plans {
            manager.currentEntityMapping = plan.mapping
            total += try count(plan)
        }
        try advance(by: 0, of: .creation)
        try pass(create)
        try pass(relate)
        try pass(validate)
        manager.currentEntityMapping = nil
        try finish()
    }

    private func pass(_ body: (EntityPlan) throws -> Void) throws {
        done = 0
        for plan in plans {
            manager.currentEntityMapping = plan.mapping
            try manager.requireNotCancelled()
            try body(plan)
        }
    }

    // MARK: - First pass

    private func create(_ plan: EntityPlan) throws {
        try staged(plan, "begin") { try plan.policy?.begin(plan.mapping, manager: manager) }
        try forEachBatchOfSources(plan) { sources in
            for source in sources {
                try manager.requireNotCancelled()
                guard let policy = plan.policy else {
                    try createDestinationInstance(forSource: source, in: plan)
                    continue
                }
                try staged(plan, "create_destination_instances (createDestinationInstances)", source) {
                    try policy.createDestinationInstances(forSource: source, in: plan.mapping, manager: manager)
                }
            }
            try endBatch()
            try advance(by: sources.count, of: .creation)
        }
        try staged(plan, "end_instance_creation (endInstanceCreation)") {
            try plan.policy?.endInstanceCreation(plan.mapping, manager: manager)
        }
        if plan.policy != nil { try endBatch() }
    }

    /// Saves the objects of a batch and releases them. Does nothing without batches.
    private func endBatch() throws {
        guard runsInBatches else { return }
        try save()
        try associations.didSave()
        try reset()
        for context in [sourceContext, destinationContext] { MigrationManager.hostBridge.endBatch(of: context) }
    }

    private func save() throws {
        do { try destinationContext.save() } catch let error as CoreError { throw failure(of: error) }
    }

    // MARK: - Second pass

    private func relate(_ plan: EntityPlan) throws {
        if plan.policy != nil || !plan.relationships.isEmpty {
            try associations.forEachBatch(of: plan.number) { pairs in
                for pair in pairs {
                    try manager.requireNotCancelled()
                    guard let policy = plan.policy else {
                        try createRelationships(from: pair.source, to: pair.destination, in: plan)
                        continue
                    }
                    if pair.destination.isGone || pair.destination.isDeleted { continue }
                    try staged(plan, "create_relationships (createRelationships)", pair.source) {
                        try policy.createRelationships(
                            forDestination: pair.destination, in: plan.mapping, manager: manager)
                    }
                }
                try endBatch()
                try advance(by: pairs.count, of: .relationships)
            }
        }
        try staged(plan, "end_relationship_creation (endRelationshipCreation)") {
            try plan.policy?.endRelationshipCreation(plan.mapping, manager: manager)
        }
        if plan.policy != nil { try endBatch() }
    }

    // MARK: - Third pass

    private func validate(_ plan: EntityPlan) throws {
        try staged(plan, "perform_custom_validation (performCustomValidation)") {
            try plan.policy?.performCustomValidation(plan.mapping, manager: manager)
        }
        try staged(plan, "end") { try plan.policy?.end(plan.mapping, manager: manager) }
    }

    private func finish() throws {
        if !runsInBatches { return try save() }
        try save()
        try reset()
        try validateResult()
    }

    /// Validates the objects of the destination whose entities have conditions.
    private func validateResult() throws {
        for entity in manager.destinationModel.entities where !entity.isAbstract && entity.hasConditions {
            let request = FetchRequest(entity: entity)
            request.includesSubentities = false
            try forEachBatch(request, in: destinationContext) { objects in
                do { try destinationContext.validateStored(objects) } catch let error as CoreError {
                    throw failure(of: error)
                }
                try destinationContext.resetWithRows()
                try advance(by: 0, of: .validation)
            }
        }
    }

    // MARK: - Objects of the source

    private func count(_ plan: EntityPlan) throws -> Int {
        guard let request = try sourceRequest(of: plan) else { return 0 }
        return try sourceContext.count(request)
    }

    private func forEachBatchOfSources(_ plan: EntityPlan, _ body: ([ManagedObject]) throws -> Void) throws {
        if let request = try sourceRequest(of: plan) {
            return try forEachBatch(request, in: sourceContext, body)
        }
        // The expression returns objects instead of a request.
        guard plan.source != nil, let expression = plan.mapping.sourceExpression else { return }
        let found = try evaluating(plan, "the source expression") {
            try expression.value(with: .null, variables: variables(of: plan)).managedObjects
        }
        if !found.isEmpty { try body(found) }
    }

    /// Returns the request for the source objects of a mapping.
    ///
    /// - Returns: nil for a mapping without a source, and for a source expression that is not a `FETCH` of a request.
    private func sourceRequest(of plan: EntityPlan) throws -> FetchRequest? {
        guard let entity = plan.source else { return nil }
        guard let expression = plan.mapping.sourceExpression else {
            let request = FetchRequest(entity: entity)
            request.includesSubentities = false
            return request
        }
        guard case .fetch(let inner, _, _) = expression else { return nil }
        return try evaluating(plan, "the source expression") {
            guard case .object(let value) = try inner.value(with: .null, variables: variables(of: plan)),
                let request = value as? FetchRequest
            else { return nil }
            return request
        }
    }

    /// Calls `body` with the objects of a request, batch by batch. `body` may invalidate them.
    private func forEachBatch(
        _ request: FetchRequest, in context: Context, _ body: ([ManagedObject]) throws -> Void
    ) throws {
        guard let store = context.coordinator.stores.first else { return }
        if !runsInBatches {
            let objects = try context.fetch(request)
            if !objects.isEmpty { try body(objects) }
            return
        }
        let window = request.copy()
        let end = request.limit > 0 ? request.offset + request.limit : Int.max
        var offset = request.offset
        while offset < end {
            window.offset = offset
            window.limit = min(MigrationRun.windowSize, end - offset)
            let ids = try context.fetchIDs(window)
            for start in stride(from: 0, to: ids.count, by: MigrationRun.batchSize) {
                let part = ids[start..<min(start + MigrationRun.batchSize, ids.count)]
                try body(try context.objects(part.map { (Int($0.entity.index), $0.reference) }, in: store))
            }
            if ids.count < window.limit { return }
            offset += ids.count
        }
    }
}

extension Entity {
    /// Whether the entity has required properties, bounds or validation rules.
    fileprivate var hasConditions: Bool {
        let slots = (0..<Int(slotCount)).lazy.map { self.layout.slots[$0] }
        return slots.contains { !$0.conditions.isDisjoint(with: [.required, .ruled, .bounded]) }
    }
}

extension PropertyValue {
    /// The managed objects of a value: no object, one object, or the elements of a collection.
    var managedObjects: [ManagedObject] {
        switch self {
        case .object(let object): (object.original as? ManagedObject).map { [$0] } ?? []
        case .array(let values): values.flatMap(\.managedObjects)
        case .set(let values): values.flatMap(\.managedObjects)
        default: []
        }
    }
}
