import CorestoneFormats
import CorestoneModel
import CorestoneValues

/// A comparison of the object graphs of two stores, regardless of their types and primary keys.
///
/// The objects of an entity are paired in the order of their primary keys. A migration keeps this order. Values are
/// compared exactly, and to-one relationships by the pair to which the target belongs. Members of ordered relationships
/// are compared in order. A reference to a missing object counts as null.
public struct GraphComparison {
    /// The number of objects of the first store.
    public private(set) var objects = 0
    /// The number of compared values: attributes, to-one relationships and lists of members.
    public private(set) var values = 0
    /// The number of compared values that are equal.
    public private(set) var equalValues = 0
    /// The first differences, one line each.
    public private(set) var differences: [String] = []
    /// The number of all differences.
    public private(set) var differenceCount = 0

    /// The maximum number of differences in `differences`.
    public static let mostDifferences = 20
    private static let batchSize = 500

    public var isEqual: Bool { differenceCount == 0 }

    /// Compares the first stores of two coordinators.
    ///
    /// The models of the coordinators must have the same entities and stored properties, in any order.
    ///
    /// - Throws: `.invalidArgument` for a coordinator without a store, and for models that differ in an entity or a
    ///   property.
    ///   The store's error if a row cannot be read.
    public init(_ first: Coordinator, _ second: Coordinator) throws {
        let left = try GraphSide(first, "first")
        let right = try GraphSide(second, "second")
        // Stores in memory may have the same path.
        (left.shown, right.shown) =
            left.path == right.path
            ? ("the first store", "the second store")
            : (Coordinator.shown(left.path), Coordinator.shown(right.path))
        for pair in try ComparedEntities.all(left, right) {
            let (count, otherCount) = (left.keys(of: pair.entity).count, right.keys(of: pair.other).count)
            objects += count
            if count != otherCount {
                note(
                    "\(pair.entity.name): \(count) object\(count == 1 ? "" : "s") in \(left.shown), \(otherCount) in \(right.shown)"
                )
                continue
            }
            for start in stride(from: 0, to: count, by: GraphComparison.batchSize) {
                let range = start..<min(start + GraphComparison.batchSize, count)
                try compareRows(of: pair, range, left, right)
                for (relationship, other) in pair.lists {
                    try compareMembers(of: relationship, other, pair, range, left, right)
                }
            }
        }
    }

    private mutating func note(_ difference: String) {
        differenceCount += 1
        if differences.count < GraphComparison.mostDifferences { differences.append(difference) }
    }

    private mutating func compareRows(
        of pair: ComparedEntities, _ range: Range<Int>, _ left: GraphSide, _ right: GraphSide
    ) throws {
        let (rows, otherRows) = (try left.rows(of: pair.entity, range), try right.rows(of: pair.other, range))
        for position in range {
            let name = left.name(of: pair.entity, position)
            guard let row = rows[position], let otherRow = otherRows[position] else {
                note("\(name) does not have a readable row in \(rows[position] == nil ? left.shown : right.shown)")
                continue
            }
            for (property, other) in pair.values {
                guard let value = row[Int(property.slot)], let found = otherRow[Int(other.slot)] else { continue }
                values += 1
                if value == found {
                    equalValues += 1
                } else {
                    note("\(name).\(property.path): \(value.text) in \(left.shown), \(found.text) in \(right.shown)")
                }
            }
        }
    }

    private mutating func compareMembers(
        of relationship: Relationship, _ other: Relationship, _ pair: ComparedEntities, _ range: Range<Int>,
        _ left: GraphSide, _ right: GraphSide
    ) throws {
        let members = try left.members(of: relationship, pair.entity, range)
        let found = try right.members(of: other, pair.other, range)
        for position in range {
            values += 1
            if members[position] == found[position] {
                equalValues += 1
                continue
            }
            let (count, otherCount) = (members[position]?.count ?? 0, found[position]?.count ?? 0)
            let difference =
                relationship.isOrdered ? ", but different ones or in a different order" : ", but different ones"
            note(
                "\(left.name(of: pair.entity, position)).\(relationship.name): \(count) member\(count == 1 ? "" : "s") "
                    + "in \(left.shown), "
                    + "\(otherCount) in \(right.shown)"
                    + (count == otherCount ? difference : ""))
        }
    }
}

/// An entity of one model, and the entity of the same name in the other model.
private struct ComparedEntities {
    let entity: Entity
    let other: Entity
    /// The attributes, the elements of composite attributes, and the to-one relationships.
    let values: [(property: Property, other: Property)]
    /// The to-many relationships.
    let lists: [(relationship: Relationship, other: Relationship)]

    /// Returns the pairs of all entities.
    ///
    /// - Throws: `.invalidArgument` if the models differ, with the entity, and the key of a differing property.
    static func all(_ left: GraphSide, _ right: GraphSide) throws -> [ComparedEntities] {
        let names = Set(left.model.entities.map(\.name)).symmetricDifference(right.model.entities.map(\.name))
        let (first, second) = (left.shown, right.shown)
        let file = right.path.isEmpty ? nil : right.path
        if let name = sortedByBytes(names).first {
            throw CoreError(
                .invalidArgument,
                "\(first) and \(second) have models with different entities: \(name) is only in the model of "
                    + "\(left.model.entity(named: name) == nil ? second : first); open both with the same model",
                entity: name, file: file)
        }
        return try left.model.entities.map { entity in
            let other = try right.model.requireEntity(named: entity.name)
            if let key = ComparedEntities.differingKey(entity, other) {
                throw CoreError(
                    .invalidArgument,
                    "\(first) and \(second) have models with different properties: \(entity.name).\(key) "
                        + "\(ComparedEntities.difference(of: key, entity, other, first, second)); open both with the "
                        + "same model",
                    entity: entity.name, key: key, file: file)
            }
            return ComparedEntities(entity, other)
        }
    }

    /// Creates a pair of entities with the same stored properties.
    private init(_ entity: Entity, _ other: Entity) {
        (self.entity, self.other) = (entity, other)
        let pairs = entity.properties.filter { !$0.isTransient }.compactMap { property in
            other.property(named: property.path).map { (property, $0) }
        }
        lists = pairs.compactMap { property, same in
            guard let list = property as? Relationship, list.isToMany else { return nil }
            return (same as? Relationship).map { (list, $0) }
        }
        values = pairs.filter { ($0.0 as? Relationship)?.isToMany != true }
    }

    /// Returns the difference of a property as the end of a sentence.
    ///
    /// - Parameters:
    ///   - first: The name of the store with the model of `entity`.
    ///   - second: The name of the store with the model of `other`.
    private static func difference(
        of key: String, _ entity: Entity, _ other: Entity, _ first: String, _ second: String
    ) -> String {
        func stored(_ entity: Entity) -> Property? { entity.properties.first { $0.path == key && !$0.isTransient } }
        func kind(_ property: Property) -> String {
            guard let relationship = property as? Relationship else {
                return (property as? Attribute).map { "of type \($0.type.displayName)" } ?? property.kindPhrase
            }
            let order = relationship.isOrdered ? "an ordered to-many" : "an unordered to-many"
            return "\(relationship.isToMany ? order : "a to-one") relationship to \(relationship.destination.name)"
        }
        guard let mine = stored(entity) else { return "is a stored property only in the model of \(second)" }
        guard let others = stored(other) else { return "is a stored property only in the model of \(first)" }
        return "is \(kind(mine)) in \(first) and \(kind(others)) in \(second)"
    }

    private static func differingKey(_ entity: Entity, _ other: Entity) -> String? {
        func kinds(_ entity: Entity) -> [String: StoredKind] {
            Dictionary(
                entity.properties.filter { !$0.isTransient }.map { ($0.path, StoredKind($0)) },
                uniquingKeysWith: { first, _ in first })
        }
        let (mine, others) = (kinds(entity), kinds(other))
        return sortedByBytes(Set(mine.keys).union(others.keys)).first { mine[$0] != others[$0] }
    }
}

/// The features of a property that must be equal for a comparison of values.
private struct StoredKind: Equatable {
    let type: AttributeType?
    let destination: String?
    let isToMany: Bool
    let isOrdered: Bool

    init(_ property: Property) {
        let relationship = property as? Relationship
        type = (property as? Attribute)?.type
        destination = relationship?.destination.name
        isToMany = relationship?.isToMany ?? false
        isOrdered = relationship?.isOrdered ?? false
    }
}

/// A value in the form in which it is compared.
private enum ComparedValue: Equatable {
    case value(PropertyValue)
    /// A real number. Zeros with different signs differ; all NaNs are equal.
    case real(bits: UInt64)
    /// A date, compared like a real number.
    case date(bits: UInt64)
    /// An object, by the name of its entity and its position among the entity's objects.
    case object(String, Int)

    init(_ value: PropertyValue) {
        func bits(_ number: Double) -> UInt64 { number.isNaN ? .max : number.bitPattern }
        switch value {
        case .double(let number): self = .real(bits: bits(number))
        case .date(let seconds): self = .date(bits: bits(seconds))
        default: self = .value(value)
        }
    }

    var text: String {
        switch self {
        case .value(.null): "null"
        case .value(.bool(let flag)): flag ? "true" : "false"
        case .value(.bytes(let bytes)): "\(bytes.count) byte\(bytes.count == 1 ? "" : "s")"
        case .value(let value): value.excerpt
        case .real(let bits): "\(Double(bitPattern: bits))"
        case .date(let bits): PropertyValue.date(Double(bitPattern: bits)).excerpt
        case .object(let name, let position): "the \(name) at index \(position)"
        }
    }
}

/// One of the two stores.
private final class GraphSide {
    let model: Model
    let path: String
    /// The name of the store for messages.
    var shown = ""
    private let store: any PersistentStore
    /// The rank of each entity, by its index.
    ///
    /// The rank is the position in the order of names, which is the same in both models.
    private let ranks: [Int]
    /// The primary keys of the objects, by the index of their entity.
    private var keysByEntity: [[Int64]]
    private var positionsByEntity: [[Int64: Int]]

    /// Creates one side of the comparison.
    ///
    /// - Parameter ordinal: The word "first" or "second" for a message.
    init(_ coordinator: Coordinator, _ ordinal: String) throws {
        guard let store = coordinator.stores.first else {
            throw CoreError(
                .invalidArgument,
                "cannot compare the \(ordinal) coordinator: \(coordinator.withoutStores)",
                key: ordinal == "first" ? "coordinator" : "other")
        }
        (self.store, model, path) = (store.backing, coordinator.model, store.path)
        let order = sortedByBytes(model.entities.map(\.name)).enumerated()
        let rankByName = Dictionary(uniqueKeysWithValues: order.map { ($0.element, $0.offset) })
        ranks = model.entities.map { rankByName[$0.name] ?? 0 }
        keysByEntity = Array(repeating: [], count: model.entities.count)
        for root in model.entities where root.parent == nil {
            for (key, entity) in try self.store.fetch(StoreFetch(entity: root, result: .identifiers)).identifiers {
                keysByEntity[Int(entity)].append(key)
            }
        }
        for index in keysByEntity.indices { keysByEntity[index].sort() }
        positionsByEntity = keysByEntity.map { keys in
            Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($0.element, $0.offset) })
        }
    }

    func keys(of entity: Entity) -> [Int64] { keysByEntity[Int(entity.index)] }

    /// Returns a name for the object at a position, for messages.
    func name(of entity: Entity, _ position: Int) -> String { "\(entity.name)/p\(keys(of: entity)[position])" }

    /// Returns values by position and slot; nil for slots that a row does not store. A stored null is `.value(.null)`.
    func rows(of entity: Entity, _ range: Range<Int>) throws -> [Int: [ComparedValue?]] {
        let root = model.entities[Int(entity.rootIndex)]
        let found = try store.rows(of: root, primaryKeys: Array(keys(of: entity)[range]))
        return try withExtendedLifetime(found) {
            var result: [Int: [ComparedValue?]] = [:]
            for record in found.records where record.header.pointee.entity == entity.index {
                guard let position = positionsByEntity[Int(entity.index)][record.primaryKey] else { continue }
                result[position] = try (0..<Int(entity.slotCount)).map { try value(record, $0, entity) }
            }
            return result
        }
    }

    private func value(_ record: Record, _ slot: Int, _ entity: Entity) throws -> ComparedValue? {
        let layout = entity.layout.slots[slot]
        if layout.kind == .none { return nil }
        if layout.role == .toOne {
            guard let (key, index) = record.target(slot, layout), let position = positionsByEntity[Int(index)][key]
            else { return .value(.null) }
            return .object(model.entities[Int(index)].name, position)
        }
        if layout.role == .external, let name = record.fileName(slot, layout) {
            let value = store.externalValue(named: String(decoding: name, as: UTF8.self))
            return .value(.bytes(try value.bytes { unreadable(record, entity, slot, $0, $1) }))
        }
        return record.hasValue(slot) ? ComparedValue(record.view(slot, layout).propertyValue) : .value(.null)
    }

    private func unreadable(
        _ record: Record, _ entity: Entity, _ slot: Int, _ file: String, _ fault: String
    ) -> CoreError {
        let key = entity.properties[slot].path
        return CoreError(
            .storeIO,
            "cannot compare \(entity.name).\(key) of row \(record.primaryKey) in \(shown): \(fault)",
            entity: entity.name, key: key,
            objectURI: ObjectID.uri(
                ofKey: record.primaryKey, entity: entity, in: store.references, store: store.identifier), file: file)
    }

    /// Returns the members by position of the owner, in order if the relationship is ordered.
    func members(
        of relationship: Relationship, _ entity: Entity, _ range: Range<Int>
    ) throws -> [Int: [ComparedMember]] {
        let found = try store.members(of: relationship, owners: Array(keys(of: entity)[range]), includingRows: false)
        var result: [Int: [ComparedMember]] = [:]
        for member in found.members {
            guard let owner = positionsByEntity[Int(entity.index)][member.owner],
                let position = positionsByEntity[Int(member.entity)][member.primaryKey]
            else { continue }
            result[owner, default: []].append(ComparedMember(rank: ranks[Int(member.entity)], position: position))
        }
        return relationship.isOrdered ? result : result.mapValues { $0.sorted() }
    }
}

private struct ComparedMember: Comparable {
    /// The rank of the member's entity.
    let rank: Int
    let position: Int

    static func < (a: ComparedMember, b: ComparedMember) -> Bool { (a.rank, a.position) < (b.rank, b.position) }
}
