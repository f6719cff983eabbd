import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues

/// One execution of a mapping model, with the entity mappings, the two contexts and the associations of objects.
package final class MigrationRun {
    unowned let manager: MigrationManager
    let sourceContext: Context
    let destinationContext: Context
    let plans: [EntityPlan]
    /// Whether objects are saved and released batch by batch.
    let runsInBatches: Bool
    let associations: any Associations
    private let table: AssociationTable?
    private let numbers: [String: Int]
    /// The indexes of the mappings that apply to each source entity, including mappings of its superentities.
    private var mappings: [ObjectIdentifier: [Int]] = [:]
    /// The variables of the last expression, and the index of the expression's mapping.
    var variables: (values: [String: PropertyValue], mapping: Int?) = ([:], nil)
    /// The relationship whose expression is being evaluated.
    var currentRelationship: Relationship?
    /// The number of objects that the current pass has finished, and the number of source objects.
    var done = 0
    var total = 0

    init(
        _ mappingModel: MappingModel, manager: MigrationManager, source: Context, destination: Context,
        associations makeTable: (() throws -> AssociationTable)?
    ) throws {
        (self.manager, sourceContext, destinationContext) = (manager, source, destination)
        plans = try mappingModel.entityMappings.enumerated().map {
            try EntityPlan($1, number: $0, source: manager.sourceModel, destination: manager.destinationModel)
        }
        numbers = Dictionary(plans.map { ($0.mapping.name, $0.number) }, uniquingKeysWith: { first, _ in first })
        let mayBatch = plans.allSatisfy { $0.policy?.isBatchSafe ?? true }
        if mayBatch, let makeTable, let former = source.coordinator.stores.first,
            let new = destination.coordinator.stores.first
        {
            let table = try makeTable()
            self.table = table
            associations = KeyAssociations(
                table, mappings: plans.count, source: source, former, destination: destination, new)
            runsInBatches = true
        } else {
            table = nil
            associations = ObjectAssociations(count: plans.count)
            runsInBatches = false
        }
    }

    /// The path of the source store, for errors.
    var path: String? {
        sourceContext.coordinator.stores.first.flatMap { $0.path.isEmpty ? nil : $0.path }
    }

    func plan(named name: String) throws -> EntityPlan {
        if let number = numbers[name] { return plans[number] }
        let names = plans.map(\.mapping.name)
        let near = nearestName(to: name, among: names)
        throw CoreError(
            .migration, code: .migration,
            "the mapping model does not have an entity mapping \"\(name)\""
                + (near.map { "; did you mean \"\($0)\"?" }
                    ?? (names.isEmpty
                        ? "; add it to the mapping model"
                        : "; use \(names.count > 1 ? "one of " : "")\(names.map { "\"\($0)\"" }.abridged)")),
            value: .string(name), file: path)
    }

    func destinations(mapping name: String, of sources: [ManagedObject]?) throws -> [ManagedObject] {
        let number = try plan(named: name).number
        guard let sources else {
            var all: [ManagedObject] = []
            try associations.forEachBatch(of: number) { all += $0.map(\.destination) }
            return all
        }
        return try sources.flatMap { try associations.destinations(of: $0, mapping: number) }
    }

    func sources(mapping name: String, of objects: [ManagedObject]) throws -> [ManagedObject] {
        let number = try plan(named: name).number
        return try objects.flatMap { try associations.sources(of: $0, mapping: number) }
    }

    /// Returns the objects that all mappings created for source objects, in the order of the source objects.
    func destinations(of sources: [ManagedObject]) throws -> [ManagedObject] {
        try sources.flatMap { source in
            try mappings(of: source.entity).flatMap { try associations.destinations(of: source, mapping: $0) }
        }
    }

    private func mappings(of entity: Entity) -> [Int] {
        if let known = mappings[ObjectIdentifier(entity)] { return known }
        let found = plans.filter { $0.source.map(entity.isKind) ?? false }.map(\.number)
        mappings[ObjectIdentifier(entity)] = found
        return found
    }

    func reset() throws {
        for context in [sourceContext, destinationContext] { try context.resetWithRows() }
    }

    // MARK: - Progress

    /// The three passes over the mappings, with their shares of the work.
    enum Pass {
        case creation, relationships, validation

        var start: Double {
            switch self {
            case .creation: 0
            case .relationships: 0.45
            case .validation: 0.9
            }
        }
        var share: Double { self == .validation ? 0.1 : 0.45 }
    }

    /// Adds finished objects and reports the progress.
    ///
    /// - Throws: 134120, or the error of the application, if the migration was cancelled.
    func advance(by count: Int, of pass: Pass) throws {
        done = min(done + count, max(total, 1))
        let part = total > 0 ? Double(done) / Double(total) : 1
        manager.progress = min(pass.start + pass.share * part, 1)
        let rows = min(Int(manager.progress * Double(total)), max(total - 1, 0))
        if let report = manager.report, !report(rows, max(total, 1)) { manager.cancel() }
        try manager.requireNotCancelled()
    }

    // MARK: - Record

    /// Writes the associations into the destination store, which must be closed.
    ///
    /// - Parameter scratch: The path for a temporary file, which the caller deletes.
    package func writeAssociations(intoStoreAt path: String, scratch: String) throws {
        var table = self.table
        if let objects = associations as? ObjectAssociations {
            let opened = try AssociationTable(at: scratch)
            var rows: [AssociationTable.Row] = []
            objects.forEach { source, destination, mapping in
                guard !destination.hasTemporaryID else { return }
                rows.append(AssociationTable.Row(mapping: mapping, source: source, destination: destination))
            }
            try opened.add(rows)
            table = opened
        }
        try table?.finish(intoStoreAt: path, source: manager.sourceModel, destination: manager.destinationModel)
    }

    /// The properties whose values are copied from a source property.
    package var copiedProperties: [CopiedProperty] {
        plans.flatMap { plan -> [CopiedProperty] in
            guard let source = plan.source, let entity = plan.destination else { return [] }
            let isExact =
                plan.policy == nil
                && plans.filter { $0.source === source && $0.destination === entity }.count == 1
            let mappings = plan.mapping.attributeMappings + plan.mapping.relationshipMappings
            return mappings.compactMap { mapping in
                mapping.valueExpression?.sourceKey.map {
                    CopiedProperty(
                        sourceEntity: source.name, source: $0, entity: entity.name, destination: mapping.name,
                        isExact: isExact)
                }
            }
        }
    }
}

extension Expression {
    /// The source property that an expression copies: `$source.name`, or the migrated objects of `$source.name`.
    fileprivate var sourceKey: String? {
        switch self {
        case .path(.variable("source"), let path) where path.keys.count == 1: path.keys[0].text
        case .message: migratedObjects?.sourceKey
        default: nil
        }
    }

    /// The source objects whose migrated objects the expression returns; nil for any other expression.
    private var migratedObjects: Expression? {
        for selector in [MappingExpressions.destinationsByMapping, MappingExpressions.destinationsByRelationship] {
            guard let arguments = MappingExpressions.arguments(of: self, calling: selector) else { continue }
            return arguments.count == 2 ? arguments[1] : nil
        }
        return nil
    }
}
