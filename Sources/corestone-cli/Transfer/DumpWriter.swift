import Corestone

/// A writer of objects, which writes them in batches while they are read.
struct DumpWriter {
    let context: Context
    let reader: FieldReader
    let bar: ProgressBar?
    let total: Int
    private(set) var count = 0

    init(context: Context, reader: FieldReader, bar: ProgressBar?, total: Int) {
        (self.context, self.reader, self.bar, self.total) = (context, reader, bar, total)
    }

    private static let batchSize = 500

    private mutating func forEach(
        _ part: DumpPlan.Part, _ request: FetchRequest, _ body: (ManagedObject) throws -> Void
    ) throws {
        let cursor = try context.cursor(request, batchSize: DumpWriter.batchSize)
        let toMany = Set(part.toMany.map(\.name))
        while case let batch = try cursor.next(), !batch.isEmpty {
            try Field.loadMembers(of: toMany, batch, in: context)
            for object in batch { try body(object) }
            count += batch.count
            bar?.show(count, of: total)
            // The reset breaks retain cycles between objects, so that the batch is deallocated.
            try context.reset()
        }
    }

    // MARK: JSON

    mutating func writeObjects(
        _ parts: [DumpPlan.Part], _ request: (DumpPlan.Part) -> FetchRequest, isArray: Bool, to sink: any TextSink
    ) throws {
        var isFirst = true
        if isArray { try sink.data("[") }
        let reader = reader
        for part in parts {
            try forEach(part, request(part)) { object in
                let line = try DumpWriter.json(object, part, reader).line
                try sink.data(isArray ? (isFirst ? "\n  " : ",\n  ") + line : line + "\n")
                isFirst = false
            }
        }
        if isArray { try sink.data(isFirst ? "]\n" : "\n]\n") }
    }

    private static func json(_ object: ManagedObject, _ part: DumpPlan.Part, _ reader: FieldReader) throws -> JSON {
        var members: [(String, JSON)] = [
            ("@id", .string(object.objectID.dumpName)), ("@entity", .string(part.entity.name)),
        ]
        for attribute in part.attributes {
            let value = try reader.value(of: .attribute(attribute.path, isNumber: false), in: object)
            guard case .value(let found) = value else {
                members.append((attribute.path, .null))
                continue
            }
            members.append((attribute.path, DumpValue.json(found)))
        }
        for relationship in part.toOne {
            guard case .target(let id) = try reader.value(of: .toOne(relationship.name), in: object) else {
                members.append((relationship.name, .null))
                continue
            }
            members.append((relationship.name, .string(id.dumpName)))
        }
        for relationship in part.toMany {
            guard case .members(let ids) = try reader.value(of: .toMany(relationship.name), in: object) else {
                continue
            }
            members.append((relationship.name, .array(ids.map { .string($0.dumpName) })))
        }
        return .object(members)
    }

    // MARK: CSV

    /// Writes a header, then a line for each object. A property that an entity does not have is an empty field.
    ///
    /// - Parameter isGuarded: Whether text is protected against spreadsheet formulas.
    mutating func writeTable(
        _ parts: [DumpPlan.Part], _ request: (DumpPlan.Part) -> FetchRequest, isGuarded: Bool, to sink: any TextSink
    ) throws {
        var (fields, taken): ([Field], Set<String>) = ([], [])
        for part in parts {
            let own: [Field] =
                part.attributes.map { .attribute($0.path, isNumber: false) } + part.toOne.map { .toOne($0.name) }
                + part.toMany.map { .toMany($0.name) }
            for field in own where taken.insert(field.name).inserted { fields.append(field) }
        }
        try sink.data(CSV.line(["@id", "@entity"] + fields.map(\.name)))
        let reader = reader
        for part in parts {
            try forEach(part, request(part)) { object in
                let values = try fields.map { field -> String? in
                    let value = try reader.value(of: field, in: object)
                    let text: String? =
                        switch value {
                        case .nothing: nil
                        case .text(let text): text
                        case .value(let value): DumpValue.text(value)
                        case .target(let id): id.dumpName
                        case .members(let ids): ids.isEmpty ? nil : ids.map(\.dumpName).joined(separator: " ")
                        }
                    return text.map { value.isText ? Formula.textForLoad($0, isGuarded: isGuarded) : $0 }
                }
                try sink.data(CSV.line([object.objectID.dumpName, object.entityName] + values))
            }
        }
    }
}
