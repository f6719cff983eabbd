import CorestoneModel
import CorestoneValues

/// Whether two stores hold the same graph of objects, whatever their types and the keys of their rows.
///
/// The objects of an entity are paired in the order of their keys, which a migration keeps. Values are compared to the last bit, a
/// to-one relationship by the pair that it leads to, members of a to-many one in order where they have one. A reference to an object
/// that is not there counts as none.
public struct GraphComparison {
    public private(set) var objects = 0
    /// Values of attributes, to-one relationships and lists of members that were compared.
    public private(set) var values = 0
    public private(set) var equalValues = 0
    /// What differs, sentence by sentence; the first ones.
    public private(set) var differences: [String] = []
    public private(set) var differenceCount = 0

    public static let mostDifferences = 20
    private static let batchSize = 500

    public var isEqual: Bool { differenceCount == 0 }

    /// Compares the only stores of two coordinators, whose models have the same entities and properties.
    ///
    /// - Throws: `.invalidArgument` for coordinators without a store, or with models that differ; what reading fails with.
    public init(_ first: Coordinator, _ second: Coordinator) throws {
        let left = try GraphSide(first)
        let right = try GraphSide(second)
        guard left.model.entities.map(\.name) == right.model.entities.map(\.name) else {
            throw CoreError(
                .invalidArgument,
                "\(left.path) and \(right.path) have models with different entities; open both by the same one",
                file: right.path)
        }
        for (entity, other) in zip(left.model.entities, right.model.entities) {
            let (count, otherCount) = (left.keys(of: entity).count, right.keys(of: other).count)
            objects += count
            if count != otherCount {
                note("\(entity.name): \(count) objects in \(left.path), \(otherCount) in \(right.path)")
            } else {
                try compare(entity, left, other, right)
            }
        }
    }

    private mutating func note(_ difference: String) {
        differenceCount += 1
        if differences.count < GraphComparison.mostDifferences { differences.append(difference) }
    }

    private mutating func compare(_ entity: Entity, _ left: GraphSide, _ other: Entity, _ right: GraphSide) throws {
        let count = left.keys(of: entity).count
        let relationships = entity.relationships.filter { $0.isToMany && !$0.isTransient }
        for start in stride(from: 0, to: count, by: GraphComparison.batchSize) {
            let range = start..<min(start + GraphComparison.batchSize, count)
            let (rows, otherRows) = (try left.rows(of: entity, range), try right.rows(of: other, range))
            for place in range {
                let name = "\(entity.name)/p\(left.keys(of: entity)[place])"
                guard let row = rows[place], let otherRow = otherRows[place] else {
                    note("\(name) has no row that can be read")
                    continue
                }
                for (slot, property) in entity.properties.enumerated() {
                    guard let value = row[slot], let found = otherRow[slot] else { continue }
                    values += 1
                    if value == found {
                        equalValues += 1
                    } else {
                        note("\(name).\(property.path): \(value.text) in \(left.path), \(found.text) in \(right.path)")
                    }
                }
            }
            for relationship in relationships {
                guard let same = other.property(named: relationship.name) as? Relationship else { continue }
                let (members, found) = (
                    try left.members(of: relationship, entity, range), try right.members(of: same, other, range)
                )
                for place in range {
                    values += 1
                    if members[place] == found[place] {
                        equalValues += 1
                    } else {
                        let key = left.keys(of: entity)[place]
                        note(
                            "\(entity.name)/p\(key).\(relationship.name): \(members[place]?.count ?? 0) members in \(left.path), "
                                + "\(found[place]?.count ?? 0) in \(right.path)"
                                + (members[place]?.count == found[place]?.count
                                    ? ", not the same or in another order" : ""))
                    }
                }
            }
        }
    }
}

/// A value with which two stores can be compared.
private enum ComparedValue: Equatable {
    case value(PropertyValue)
    /// Reals have bits of which a comparison of numbers knows nothing: the sign of zero, which of the NaNs.
    case bits(UInt64)
    /// By the index of the entity, and the place among its objects.
    case object(UInt32, Int)

    init(_ value: PropertyValue) {
        switch value {
        case .double(let number), .date(let number): self = .bits(number.isNaN ? .max : number.bitPattern)
        default: self = .value(value)
        }
    }

    var text: String {
        switch self {
        case .value(.null): "nothing"
        case .value(.bytes(let bytes)): "\(bytes.count) bytes"
        case .value(let value): "\(value)"
        case .bits(let bits): "\(Double(bitPattern: bits))"
        case .object(_, let place): "the object at \(place)"
        }
    }
}

/// One of two stores.
private final class GraphSide {
    let model: Model
    let path: String
    private let store: any PersistentStore
    /// By the index of their entity.
    private var keysByEntity: [[Int64]]
    private var placesByEntity: [[Int64: Int]]

    init(_ coordinator: Coordinator) throws {
        guard let store = coordinator.stores.first else {
            throw CoreError(.invalidArgument, "a coordinator without a store has no objects to compare; add one")
        }
        (self.store, model, path) = (store.backing, coordinator.model, store.path)
        keysByEntity = Array(repeating: [], count: model.entities.count)
        for root in model.entities where root.parent == nil {
            for (key, entity) in try self.store.fetch(StoreFetch(entity: root, result: .identifiers)).identifiers {
                keysByEntity[Int(entity)].append(key)
            }
        }
        for place in keysByEntity.indices { keysByEntity[place].sort() }
        placesByEntity = keysByEntity.map { keys in
            Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($0.element, $0.offset) })
        }
    }

    func keys(of entity: Entity) -> [Int64] { keysByEntity[Int(entity.index)] }

    /// By place, then by slot; nil for slots that hold nothing of their own.
    func rows(of entity: Entity, _ range: Range<Int>) throws -> [Int: [ComparedValue?]] {
        let root = model.entities[Int(entity.rootIndex)]
        let found = try store.rows(of: root, primaryKeys: Array(keys(of: entity)[range]))
        return try withExtendedLifetime(found) {
            var result: [Int: [ComparedValue?]] = [:]
            for record in found.records where record.header.pointee.entity == entity.index {
                guard let place = placesByEntity[Int(entity.index)][record.primaryKey] else { continue }
                result[place] = try (0..<Int(entity.slotCount)).map { try value(record, $0, entity) }
            }
            return result
        }
    }

    private func value(_ record: Record, _ slot: Int, _ entity: Entity) throws -> ComparedValue? {
        let layout = entity.layout.slots[slot]
        if layout.kind == .none { return nil }
        if layout.role == .toOne {
            guard let (key, index) = record.target(slot, layout), let place = placesByEntity[Int(index)][key] else {
                return .value(.null)
            }
            return .object(index, place)
        }
        if layout.role == .external, let name = record.fileName(slot, layout) {
            switch store.externalValue(named: String(decoding: name, as: UTF8.self)) {
            case .bytes(let bytes): return .value(.bytes(bytes))
            case .missing(let file), .unreadable(let file, _):
                throw CoreError(
                    .storeIO,
                    "\(entity.name).\(entity.properties[slot].path) lies in the file \(file), which cannot be read",
                    entity: entity.name, key: entity.properties[slot].path, file: file)
            }
        }
        return record.hasValue(slot) ? ComparedValue(record.view(slot, layout).propertyValue) : .value(.null)
    }

    /// By the place of the owner: members by entity and place, in order where they have one.
    func members(
        of relationship: Relationship, _ entity: Entity, _ range: Range<Int>
    ) throws -> [Int: [ComparedMember]] {
        let found = try store.members(of: relationship, owners: Array(keys(of: entity)[range]), includingRows: false)
        var result: [Int: [ComparedMember]] = [:]
        for member in found.members {
            guard let owner = placesByEntity[Int(entity.index)][member.owner],
                let place = placesByEntity[Int(member.entity)][member.primaryKey]
            else { continue }
            result[owner, default: []].append(ComparedMember(entity: member.entity, place: place))
        }
        return relationship.isOrdered ? result : result.mapValues { $0.sorted() }
    }
}

private struct ComparedMember: Comparable {
    let entity: UInt32
    let place: Int

    static func < (a: ComparedMember, b: ComparedMember) -> Bool { (a.entity, a.place) < (b.entity, b.place) }
}
