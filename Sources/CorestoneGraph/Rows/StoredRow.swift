import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A stored row as an object for predicates, key paths and sort descriptors.
///
/// Its stored properties have the values in the store, regardless of the values that a context has in memory. It is
/// equal to the object and to the ID of the same row.
package final class StoredRow: KeyValueCoding {
    private let source: any RowSource
    package private(set) var entity: Entity
    package private(set) var primaryKey: Int64 = 0
    /// The record; nil for a referenced row that does not exist and therefore does not have values.
    package private(set) var record: Record?
    private var chunk: RecordChunk?
    /// The group of rows that were read together, which includes this row.
    ///
    /// Nil for a row that was read alone.
    private(set) var siblings: RowGroup?
    /// The index of this row in `siblings`.
    private(set) var place = 0

    package init(_ source: any RowSource, _ entity: Entity) { (self.source, self.entity) = (source, entity) }

    package convenience init(_ source: any RowSource, _ record: Record) {
        self.init(source, source.model.entities[Int(record.header.pointee.entity)])
        setRow(record)
    }

    /// Creates one of several rows that were read together.
    convenience init(_ source: any RowSource, _ group: RowGroup, at place: Int) {
        self.init(source, group.records[place])
        (siblings, self.place) = (group, place)
    }

    /// Creates the target row of a to-one relationship.
    private init(targetOf row: StoredRow, _ relationship: Relationship, _ key: Int64, _ index: UInt32) throws {
        (source, entity, primaryKey) = (row.source, row.source.model.entities[Int(index)], key)
        try source.find(self, of: row, relationship)
    }

    /// Replaces the row that this object represents.
    ///
    /// For a caller that evaluates many rows in sequence and does not share this object.
    @inline(__always)
    package func setRow(_ record: Record) {
        let index = record.header.pointee.entity
        if index != entity.index { entity = source.model.entities[Int(index)] }
        primaryKey = record.primaryKey
        self.record = record
        let next = record.chunk
        if let chunk, Unmanaged.passUnretained(chunk).toOpaque() == next.toOpaque() { return }
        chunk = next.takeUnretainedValue()
    }

    /// Replaces the row that this object represents by one of a group.
    func setRow(at place: Int, in group: RowGroup) {
        setRow(group.records[place])
        (siblings, self.place) = (group, place)
    }

    package var reference: ObjectIDReference? { source.reference(of: self) }

    // MARK: Values

    package func value(forKey key: String) throws -> PropertyValue { try value(for: KeyName(key)) }

    package func value(for key: KeyName) throws -> PropertyValue {
        guard let slot = slot(of: key) else { return try otherValue(key.text) }
        return seen(try value(slot: slot), slot)
    }

    package func withValue(for key: KeyName, _ body: (BorrowedValue) throws -> Bool) throws -> Bool {
        guard let slot = slot(of: key), let record, entity.layout.slots[slot].role == .attribute else {
            return try body(BorrowedValue(try value(for: key)))
        }
        let view = record.view(slot, entity.layout.slots[slot])
        switch view.type {
        case .null: return try body(.null)
        case .bool: return try body(.bool(view.low != 0))
        case .int: return try body(.int(view.integer))
        case .double: return try body(.double(view.double))
        case .date: return try body(.date(view.double))
        case .string, .uri: return try body(.text(view.bytes))
        case .bytes:
            if isTransformable(slot) { return try body(BorrowedValue(seen(view.propertyValue, slot))) }
            return try body(.bytes(view.bytes))
        default: return try body(.value(view.propertyValue))
        }
    }

    package func isNull(for key: KeyName) throws -> Bool {
        guard let slot = slot(of: key) else { return try value(for: key).isNull }
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute, .toOne: return record.map { !$0.hasValue(slot) } ?? true
        case .external: return record.map { !$0.hasValue(slot) && $0.fileName(slot, layout) == nil } ?? true
        default: return try value(for: key).isNull
        }
    }

    package func memberCount(for key: KeyName) throws -> Int? {
        guard let slot = slot(of: key), let relationship = entity.properties[slot] as? Relationship,
            relationship.isToMany
        else { return nil }
        return try source.memberCount(of: self, relationship)
    }

    package func hasMembers(for key: KeyName) -> Bool {
        if let property = entity.property(named: key.text) { return (property as? Relationship)?.isToMany == true }
        return entity.fetchedProperty(named: key.text) != nil
    }

    package var classNames: [String] { entity.classNamesOfObjects }

    package var nameOfEntity: String? { entity.name }

    private func value(slot: Int) throws -> PropertyValue {
        let layout = entity.layout.slots[slot]
        switch layout.role {
        case .attribute: return record?.view(slot, layout).propertyValue ?? .null
        case .external: return try externalValue(slot, layout)
        case .transient: return try source.hostValue(of: self, entity.properties[slot].path)
        case .composite: return try entity.attribute(slot).composed { try value(slot: Int($0.slot)) }
        case .toOne:
            guard let (key, index) = record?.target(slot, layout) else { return .null }
            return .object(try StoredRow(targetOf: self, entity.relationship(slot), key, index))
        case .toMany: return .array(try source.members(of: self, entity.relationship(slot)).map { .object($0) })
        }
    }

    private func externalValue(_ slot: Int, _ layout: SlotLayout) throws -> PropertyValue {
        guard let record else { return .null }
        guard let name = record.fileName(slot, layout).map({ String(decoding: $0, as: UTF8.self) }) else {
            return record.view(slot, layout).propertyValue
        }
        let value = source.externalValue(named: name)
        return .bytes(try value.bytes(whenMissing: ExternalValue.folderRemedy) { unreadable(slot, $0, $1) })
    }

    private func unreadable(_ slot: Int, _ file: String, _ fault: String) -> CoreError {
        let name = entity.properties[slot].path
        return CoreError(
            .storeIO, code: .persistentStoreOperation,
            "cannot read \(entity.name).\(name) of \(valueDescription): \(fault)", entity: entity.name, key: name,
            objectURI: valueDescription, file: file)
    }

    /// Returns the value of a name that is not an attribute or a relationship of the row's entity.
    private func otherValue(_ name: String) throws -> PropertyValue {
        if entity.fetchedProperty(named: name) != nil { return try source.hostValue(of: self, name) }
        // A property that only other entities of the entity tree have is nil here, as in their common table.
        if entity.root.withDescendants.contains(where: { $0.property(named: name) != nil }) { return .null }
        if name == "entity" { return .dictionary(["name": .string(entity.name)]) }
        if name == "objectID" { return .object(reference ?? self) }
        do { _ = try entity.requireProperty(named: name) } catch let error as CoreError {
            throw CoreError(
                .predicate, error.message, entity: error.entity, key: name, value: error.value,
                objectURI: valueDescription)
        }
        return .null
    }

    private func isTransformable(_ slot: Int) -> Bool {
        (entity.properties[slot] as? Attribute)?.type == .transformable
    }

    private func seen(_ value: PropertyValue, _ slot: Int) -> PropertyValue {
        guard case .bytes(let bytes) = value, isTransformable(slot) else { return value }
        return entity.attribute(slot).dataForPredicates(bytes.rawBytes)
    }

    /// Returns the slot of a property; nil if the entity does not have it. The key caches the last slot.
    private func slot(of key: KeyName) -> Int? {
        let known = Int(truncatingIfNeeded: key.hint.load(ordering: .relaxed)) - 1
        if known >= 0, known < entity.properties.count, entity.properties[known].path == key.text { return known }
        guard let property = entity.property(named: key.text) else { return nil }
        key.hint.store(UInt64(property.slot) + 1, ordering: .relaxed)
        return Int(property.slot)
    }
}

extension StoredRow: ValueObject {
    package func isEqual(to other: any ValueObject) -> Bool {
        if other === self { return true }
        if let row = other as? StoredRow {
            return primaryKey == row.primaryKey
                && (source === row.source
                    ? entity.root === row.entity.root
                    : source.identifier == row.source.identifier && entity.isOfTree(of: row.entity))
        }
        if let object = other as? ManagedObject { return isRow(of: object.objectID) }
        if let reference = other as? ObjectIDReference { return isRow(of: reference.id) }
        return false
    }

    func isRow(of id: ObjectID) -> Bool {
        primaryKey == id.reference && id.store?.identifier == source.identifier && entity.isOfTree(of: id.entity)
    }

    package func hashIdentity(into hasher: inout Hasher) { hasher.combine(primaryKey) }

    package var valueDescription: String {
        // Keys below `firstKey` are numeric references themselves.
        let references = primaryKey < ReferenceTable.firstKey ? nil : ReferenceTable.of(source.identifier)
        return ObjectID.uri(ofKey: primaryKey, entity: entity, in: references, store: source.identifier)
    }

    package var original: any ValueObject { source.object(of: self) ?? self }
}

/// A group of rows that were read together, so that their targets can be read together too.
final class RowGroup {
    let records: ContiguousArray<Record>
    private let chunks: [RecordChunk]

    init(_ batch: RowBatch) { (records, chunks) = (batch.records, batch.chunks) }
}
