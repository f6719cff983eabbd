import CorestoneModel
import CorestoneValues

/// An import of an Arrow stream into a context.
///
/// The objects are changed row by row, within a trial. If a row is rejected, the changes of the trial are reverted.
final class ArrowImport {
    private typealias Key = ArrowRelationship.Key

    /// A relationship of an object to an object that may be in a later row.
    private struct Pending {
        let object: ManagedObject
        let place: Int
        let keys: [Key]
        let row: Int
    }

    private let context: Context
    private let entity: Entity
    private let options: ArrowImportOptions
    private let stream: ArrowInputStream
    private let plan: ArrowImportPlan
    /// The attributes whose values identify an existing object; nil for an insertion.
    private let match: ArrowMatch?
    private let changes: ArrowChanges
    /// The indexes of the targets, by relationship of the plan.
    private var targets: [ArrowObjectIndex] = []
    private var pending: [Pending] = []
    /// The objects of the rows, if they are to be validated.
    private var validated: [(object: ManagedObject, row: Int)] = []
    private var (inserted, updated) = (0, 0)

    /// The number of rows whose keys are looked up together.
    private static let chunk = 1024

    init(
        _ stream: ArrowInputStream, _ entity: Entity, _ options: ArrowImportOptions, isUpsert: Bool,
        in context: Context, _ trial: Trial
    ) throws {
        (self.context, self.entity, self.options, self.stream) = (context, entity, options, stream)
        let plan = try context.whileStreamRuns {
            try stream.withSchema { try ArrowImportPlan($0, entity, options, isUpsert: isUpsert) }
        }
        self.plan = plan
        changes = ArrowChanges(trial)
        match = isUpsert ? try ArrowMatch(plan, options.keys, in: context) : nil
        targets = try plan.relationships.map {
            try ArrowObjectIndex($0.relationship.destination, $0.keys.map(\.attribute), in: context)
        }
    }

    func run() throws -> ArrowImportResult {
        while let batch = try context.whileStreamRuns({ try stream.next() }) {
            try plan.load(batch)
            for start in stride(from: 0, to: plan.count, by: ArrowImport.chunk) {
                try importRows(start..<min(start + ArrowImport.chunk, plan.count))
            }
        }
        try connectPending()
        try validate()
        try report(rows: inserted + updated, isEnd: true)
        return ArrowImportResult(inserted: inserted, updated: updated)
    }

    // MARK: Rows

    private func importRows(_ rows: Range<Int>) throws {
        if (plan.base + rows.lowerBound) & 0x1FFF == 0, plan.base + rows.lowerBound > 0 {
            try report(rows: plan.base + rows.lowerBound)
        }
        try checkCancelled()
        try match?.prepare(rows)
        // By relationship and row.
        var keys: [[[Key]?]] = []
        for (relationship, index) in zip(plan.relationships, targets) {
            var wanted: Set<Key> = []
            let column = try rows.map { row in
                try locating(row) {
                    let keys = try relationship.targets(row)
                    if let keys { wanted.formUnion(keys) }
                    return keys
                }
            }
            try index.prepare(wanted)
            keys.append(column)
        }
        for row in rows {
            try locating(row) {
                let former = try match?.object(row)
                let object = try former ?? context.insert(entity)
                try setAttributes(row, of: object, isNew: former == nil)
                for place in keys.indices {
                    try connect(object, place, keys[place][row - rows.lowerBound] ?? [], row: plan.base + row + 1)
                }
                if former == nil {
                    inserted += 1
                } else {
                    updated += 1
                }
                try note(object)
                if options.validates { validated.append((object, plan.base + row + 1)) }
            }
        }
    }

    private func setAttributes(_ row: Int, of object: ManagedObject, isNew: Bool) throws {
        for column in plan.attributes {
            do {
                let value = try column.view(row).propertyValue
                if isNew {
                    try object.set(value, key: column.attribute.key)
                } else {
                    try changes.set(value, column.attribute, of: object)
                }
            } catch let error as CoreError { throw column.located(error) }
        }
    }

    /// Adds an object to the indexes, so that later rows can refer to it.
    private func note(_ object: ManagedObject) throws {
        try match?.index?.note(object)
        for index in targets { try index.note(object) }
    }

    /// Calls the body, whose errors get the number of the row.
    @inline(__always)
    private func locating<Result>(_ row: Int, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError { throw error.inArrowRow(plan.base + row + 1) }
    }

    // MARK: Relationships

    /// Sets a relationship to the objects with the keys, or postpones it if they may be in later rows.
    private func connect(_ object: ManagedObject, _ place: Int, _ keys: [Key], row: Int, isLast: Bool = false) throws {
        let column = plan.relationships[place]
        var members: [ManagedObject] = []
        for key in keys {
            let found = try targets[place].objects(key)
            if found.count > 1 { throw ambiguous(column, key) }
            if let target = found.first {
                members.append(target)
            } else if !isLast, column.references == nil, column.relationship.destination.isOfTree(of: entity) {
                pending.append(Pending(object: object, place: place, keys: keys, row: row))
                return
            } else if !options.ignoresMissingTargets {
                throw missing(column, key)
            }
        }
        if column.relationship.isToMany {
            try changes.setMembers(members, column.relationship, of: object)
        } else {
            try changes.setTarget(members.first, column.relationship, of: object)
        }
    }

    private func connectPending() throws {
        for each in pending {
            do { try connect(each.object, each.place, each.keys, row: each.row, isLast: true) } catch let error
                as CoreError
            {
                throw error.inArrowRow(each.row)
            }
        }
    }

    private func missing(_ column: ArrowRelationship, _ key: Key) -> CoreError {
        let destination = column.relationship.destination
        let problem =
            column.references == nil
            ? "an object with \(described(column, key)) does not exist; "
                + (destination.isOfTree(of: entity) ? "add a row for it" : "import \(destination.name) first")
                + ", or set CST_ARROW_IMPORT_NULL_IF_MISSING (missing=\"null\", ignoresMissingTargets)"
            : "\(key.values[0].excerpt) is not the URI of an object of \(destination.name) in an open store; correct "
                + "it, or set CST_ARROW_IMPORT_NULL_IF_MISSING (missing=\"null\", ignoresMissingTargets)"
        return CoreError(
            .invalidArgument, "\(entity.name).\(column.relationship.name): \(problem)", entity: entity.name,
            key: column.relationship.name, value: key.values[0])
    }

    private func ambiguous(_ column: ArrowRelationship, _ key: Key) -> CoreError {
        CoreError(
            .invalidArgument,
            "\(entity.name).\(column.relationship.name): several objects have \(described(column, key)); use a key "
                + "that is unique", entity: entity.name, key: column.relationship.name, value: key.values[0])
    }

    private func described(_ column: ArrowRelationship, _ key: Key) -> String {
        zip(column.keys, key.values).map { "\($0.attribute.path) \($1.excerpt)" }.listed
    }

    // MARK: The end

    private func validate() throws {
        for (object, row) in validated where !object.isDeleted && !object.isGone {
            do {
                if object.isInserted { try object.validateForInsert() } else { try object.validateForUpdate() }
            } catch let error as CoreError { throw error.inArrowRow(row) }
        }
    }

    private func report(rows: Int, isEnd: Bool = false) throws {
        if let progress = options.progress, !context.whileStreamRuns({ progress(rows, isEnd) }) {
            throw CoreError.cancelledImport(of: entity)
        }
    }

    private func checkCancelled() throws {
        if context.interruptCheck?() == true { throw CoreError.cancelledImport(of: entity) }
    }
}

extension CoreError {
    static func cancelledImport(of entity: Entity) -> CoreError {
        CoreError(
            .cancelled, "the Arrow import of \(entity.name) was cancelled, and nothing was changed",
            entity: entity.name)
    }
}
