import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneSQLite
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneMigration

/// Stores in a temporary folder, migrated by a manager.
class MigrationTestCase: XCTestCase {
    private(set) var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-manager-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(atPath: folder) }

    /// A model from lines such as "Person name:string? age:int32=3 cars:[Car]/owner".
    ///
    /// `?` is optional, `=` a default, `[ ]` to-many, `< >` ordered, and `/` names the inverse, which must be in an
    /// earlier line.
    static func model(_ lines: String...) throws -> Model {
        let model = Model()
        let parts = lines.map { $0.split(separator: " ").map(String.init) }
        let entities = try parts.map { try model.addEntity(named: $0[0]) }
        var relationships: [String: Relationship] = [:]
        for (entity, line) in zip(entities, parts) {
            for part in line.dropFirst() {
                let pair = part.split(separator: ":", maxSplits: 1).map(String.init)
                let isOptional = pair[1].contains("?")
                let sides = pair[1].filter { $0 != "?" }.split { "/=".contains($0) }.map(String.init)
                if let type = types[sides[0]] {
                    let attribute = try entity.addAttribute(named: pair[0], type: type, isOptional: isOptional)
                    if sides.count > 1 { try attribute.setDefaultValue(.string(sides[1])) }
                    continue
                }
                let isOrdered = sides[0].hasPrefix("<")
                let relationship = try entity.addRelationship(
                    named: pair[0],
                    destination: model.requireEntity(
                        named: sides[0].trimmingCharacters(in: CharacterSet(charactersIn: "[]<>"))),
                    isToMany: isOrdered || sides[0].hasPrefix("["), isOrdered: isOrdered)
                relationships["\(entity.name).\(pair[0])"] = relationship
                if sides.count > 1 {
                    try relationship.setInverse(
                        XCTUnwrap(relationships["\(relationship.destination.name).\(sides[1])"]))
                }
            }
        }
        return model
    }

    private static let types: [String: AttributeType] = [
        "string": .string, "int16": .integer16, "int32": .integer32, "int64": .integer64, "double": .double,
        "decimal": .decimal,
        "date": .date, "binary": .binary, "transformable": .transformable, "bool": .boolean, "uuid": .uuid,
    ]

    /// Creates a store and fills it.
    func fill(_ model: Model, _ body: (Context) throws -> Void) throws -> String {
        let path = "\(folder)/old-\(UUID().uuidString.prefix(8)).sqlite"
        let coordinator = try Coordinator(model: model)
        let store = try coordinator.addSQLiteStore(at: path)
        let context = Context(coordinator: coordinator)
        try body(context)
        try context.save()
        try coordinator.remove(store)
        return path
    }

    /// Migrates a store and returns a context of the result.
    func migrate(
        _ path: String, _ mapping: MappingModel, from source: Model, to destination: Model, inBatches: Bool = true,
        _ prepare: (MigrationManager) -> Void = { _ in }
    ) throws -> Context {
        let former = try Coordinator(model: source)
        try former.addSQLiteStore(at: path, options: .readOnly)
        let new = try Coordinator(model: destination)
        let result = "\(folder)/new-\(UUID().uuidString.prefix(8)).sqlite"
        let store = try new.addSQLiteStore(at: result)
        let manager = try MigrationManager(source: source, destination: destination)
        prepare(manager)
        let scratch = result + ".keys"
        try manager.migrate(
            mapping, from: Context(coordinator: former), to: Context(coordinator: new),
            associations: inBatches ? { try AssociationTable(at: scratch) } : nil)
        try new.remove(store)
        let reading = try Coordinator(model: destination)
        try reading.addSQLiteStore(at: result, options: .readOnly)
        return Context(coordinator: reading)
    }

    /// The values of a key path over all objects of an entity, as sorted text.
    func values(_ context: Context, _ entity: String, _ path: String) throws -> [String] {
        try context.fetch(FetchRequest(entityName: entity)).map { object in
            let value = try object.value(forKeyPath: path)
            return value.elements.map { "\($0.map(\.excerpt).sorted())" } ?? value.excerpt
        }.sorted()
    }

    static func copy(_ name: String, _ source: String? = nil) -> PropertyMapping {
        PropertyMapping(name: name, valueExpression: MappingExpressions.source(source ?? name))
    }

    static func expression(_ text: String) -> CorestonePredicate.Expression {
        guard let expression = try? CorestonePredicate.Expression.parse(text) else {
            XCTFail("cannot parse \(text)")
            return .constant(.null)
        }
        return expression
    }

    static func property(_ name: String, _ expression: String) -> PropertyMapping {
        PropertyMapping(name: name, valueExpression: Self.expression(expression))
    }
}
