import CorestoneModel
import CorestoneValues

/// The rows of a batch insertion, some at a time: the values of the next rows in place, by slot.
package final class BatchRows {
    package let entity: Entity
    /// Of attributes that a row has a place for; the store computes none of them. All else is null.
    package let slots: [Int]
    /// Of the row that is being filled, then of the first of those that `next` gave.
    package private(set) var values: UnsafeMutablePointer<ValueView>
    /// How many rows more there are for which no code of the host's has to be asked, and whose values last as long as this one's.
    package var ready = 0
    /// Which of them the present row gives by itself.
    package var given: Given
    private let places: UnsafeMutablePointer<ValueView>
    /// As many rows as `next` gives at a time.
    package static let most = 32
    /// Of the last row, counted from 1; 0 before the first.
    package private(set) var number = 0
    private let fill: BatchInsertRequest.Fill
    private let layouts: UnsafeMutablePointer<SlotLayout>
    private let required: [Int]
    /// What has to be unique of them, the root's first.
    package let constraints: [(owner: Entity, keys: [String], slots: [Int])]
    /// What every row has that says nothing else.
    private let defaults: [(slot: Int, value: PropertyValue)]
    /// What views of the present rows point into.
    private var kept: [PropertyValue] = []
    private let checkCancelled: () throws -> Void

    package enum Given {
        case slots([Int])
        case names([String])
    }

    init(
        _ entity: Entity, _ fill: @escaping BatchInsertRequest.Fill, named: [Int]?,
        checkCancelled: @escaping () throws -> Void
    ) {
        self.entity = entity
        self.fill = fill
        given = .slots(named ?? [])
        self.checkCancelled = checkCancelled
        layouts = entity.layout.slots
        let count = Int(entity.slotCount)
        places = UnsafeMutablePointer.allocate(capacity: max(count, 1) * BatchRows.most)
        places.initialize(repeating: .null, count: count * BatchRows.most)
        values = places
        let layouts = layouts
        slots = (0..<count).filter { slot in
            [.attribute, .external].contains(layouts[slot].role) && layouts[slot].kind != .none
                && !layouts[slot].conditions.contains(.derived)
        }
        required = slots.filter { layouts[$0].conditions.contains(.required) }
        constraints = entity.allUniqueConstraints.map { ($0.entity, $0.attributes, entity.slots(of: $0.attributes)) }
        let written = Set(slots)
        defaults = entity.defaults.filter { written.contains($0.slot) }
        for place in 0..<BatchRows.most {
            values = values(at: place)
            clear()
        }
        values = places
    }

    deinit { places.deallocate() }

    /// Fills the next rows, no more than `count`, and only one where the host's code gives each; 0 after the last one. Values are
    /// valid until the next call.
    package func next(_ count: Int = 1) throws -> Int {
        defer { values = places }
        if !kept.isEmpty { kept.removeAll(keepingCapacity: true) }
        var filled = 0
        repeat {
            values = values(at: filled)
            if number & 0xff == 0 { try checkCancelled() }
            guard try fill(self) else { break }
            number += 1
            for slot in required where values[slot].type == .null { throw missing(slot) }
            filled += 1
        } while ready > 0 && filled < count
        return filled
    }

    /// The values of one of the rows that `next` gave.
    @inline(__always)
    package func values(at place: Int) -> UnsafeMutablePointer<ValueView> { places + place * Int(entity.slotCount) }

    /// Gives the row what every row has that says nothing else.
    package func clear() {
        for slot in slots { values[slot] = .null }
        for place in defaults.indices { values[defaults[place].slot] = ValueView(defaults[place].value) }
    }

    /// Gives one slot what it has in a row that says nothing.
    package func setDefault(slot: Int) {
        for leaf in entity.attribute(slot).leaves.map({ Int($0.slot) }) {
            values[leaf] = .null
            for place in defaults.indices where defaults[place].slot == leaf {
                values[leaf] = ValueView(defaults[place].value)
            }
        }
    }

    /// Sets a value in place, which has to stay until the next row.
    @inline(__always)
    package func set(_ view: ValueView, slot: Int) throws {
        if layouts[slot].takes(view) { values[slot] = view } else { try convert(view.propertyValue, slot) }
    }

    package func set(_ value: PropertyValue, slot: Int) throws { try convert(value, slot) }

    /// Takes a row by the names of attributes, or the paths of elements of composite ones.
    func take(_ row: [String: PropertyValue]) throws {
        clear()
        given = .names(Array(row.keys))
        for (name, value) in row {
            let slot: Int
            do { slot = try entity.batchSlot(of: name) } catch let error as CoreError { throw error.inRow(number + 1) }
            try convert(value, slot)
        }
    }

    /// Takes what was set on an object.
    func take(_ object: ManagedObject) throws {
        clear()
        guard let overlay = object.overlay else { return given = .slots([]) }
        var set: [Int] = []
        try overlay.forEachChanged { slot in
            // What no store has is nobody's business but the host's.
            if layouts[slot].role == .transient || layouts[slot].role == .toOne && overlay[slot].isNull { return }
            try requireSettable(entity.properties[slot].path)
            try self.set(ValueView(overlay[slot]), slot: slot)
            if !defaults.contains(where: { $0.slot == slot && $0.value == overlay[slot] }) { set.append(slot) }
        }
        for keeper in object.toManyRelationships {
            if let keeper, keeper.hasChanges { try requireSettable(keeper.relationship.name) }
        }
        given = .slots(set)
    }

    /// The slots that an existing row takes from the present one.
    package func slots(wholly: Bool) -> [Int] {
        if wholly { return slots }
        switch given {
        case .slots(let slots): return slots.map(entity.attribute).flatMap(\.leaves).map { Int($0.slot) }.sorted()
        case .names(let names):
            let slots = names.compactMap { entity.property(named: $0) as? Attribute }.flatMap(\.leaves).map {
                Int($0.slot)
            }
            return slots.sorted()
        }
    }

    private func convert(_ value: PropertyValue, _ slot: Int) throws {
        do {
            for (leaf, part) in try entity.batchValues(of: value, for: slot) {
                kept.append(part)
                values[leaf] = kept.withUnsafeBufferPointer { ValueView($0[$0.count - 1]) }
            }
        } catch let error as CoreError { throw error.inRow(number + 1) }
    }

    private func missing(_ slot: Int) -> CoreError { entity.missingInBatch(slot).inRow(number) }

    private func requireSettable(_ name: String) throws {
        do { _ = try entity.batchSlot(of: name) } catch let error as CoreError { throw error.inRow(number + 1) }
    }
}

extension SlotLayout {
    /// Whether a view shows just what the slot holds, so that nothing has to be converted or refused.
    @inline(__always)
    fileprivate func takes(_ view: ValueView) -> Bool {
        switch (kind, view.type) {
        // A composite attribute, whose elements have the values.
        case (.none, _): false
        case (_, .null), (.text, .string), (.int64, .int), (.bytes, .bytes), (.uuid, .uuid): true
        case (.bool, .bool): view.low <= 1
        case (.date, .date): view.double.isFinite
        case (.double, .double): view.double.isFinite && !conditions.contains(.single)
        case (.int32, .int): view.integer == Int64(Int32(truncatingIfNeeded: view.integer))
        case (.int16, .int): view.integer == Int64(Int16(truncatingIfNeeded: view.integer))
        default: false
        }
    }
}

extension Entity {
    /// The slot of what a batch may set: an attribute that the store keeps and does not compute.
    package func batchSlot(of name: String) throws -> Int {
        let property = try requireProperty(named: name)
        let why: String? =
            switch property {
            case let attribute as Attribute where attribute.derivation != nil:
                "is derived and computed by the store; leave it out"
            case is Relationship:
                "is a relationship, but a batch request sets only attributes; set it on objects and save them"
            default: property.isTransient ? "is transient and not stored; leave it out" : nil
            }
        if let why {
            throw CoreError(.invalidArgument, "\(self.name).\(name) \(why)", entity: self.name, key: name)
        }
        return Int(property.slot)
    }

    /// A value as the leaves of an attribute hold it, by slot. Sees to what no store can keep, but not to the author's rules.
    func batchValues(of value: PropertyValue, for slot: Int) throws -> [(slot: Int, value: PropertyValue)] {
        let attribute = attribute(slot)
        return try attribute.decomposed(try acceptInBatch(value, attribute)).map { leaf, part in
            switch part {
            case .double(let number) where !number.isFinite && !leaf.allowsNaN,
                .date(let number) where !number.isFinite:
                throw refusedInBatch(leaf, part, "is \(number), but must be finite")
            case .uri(let text) where !isURIReference(text.utf8):
                throw refusedInBatch(
                    leaf, part,
                    "is \(part.excerpt), which is not a URI; percent-encode characters that a URI cannot contain")
            default: return (Int(leaf.slot), part)
            }
        }
    }

    /// The value as the attribute holds it; one that a transformer knows goes through that.
    private func acceptInBatch(_ value: PropertyValue, _ attribute: Attribute) throws -> PropertyValue {
        guard attribute.type == .transformable else { return try attribute.accept(value, for: self) }
        switch value {
        case .null, .bytes: return value
        default:
            guard let transformer = ValueTransformers.named(attribute.valueTransformerName) else {
                throw refusedInBatch(
                    attribute, value,
                    "needs the transformer \"\(attribute.valueTransformerName ?? "")\", which is not registered; register it "
                        + "with cst_transformer_register (register_transformer), or pass bytes")
            }
            do { return .bytes(try transformer.bytes(for: value)) } catch let error as CoreError {
                throw error.within(
                    "\(name).\(attribute.path) cannot be transformed", entity: name, key: attribute.path, value: value)
            }
        }
    }

    private func refusedInBatch(_ attribute: Attribute, _ value: PropertyValue, _ why: String) -> CoreError {
        CoreError(
            .validation, code: .managedObjectValidation, "\(name).\(attribute.path) \(why)",
            entity: name, key: attribute.path, value: value)
    }

    func missingInBatch(_ slot: Int) -> CoreError {
        CoreError(
            .validation, code: .validationMissingMandatoryProperty,
            "\(name).\(properties[slot].path) is required and has no value; set it", entity: name,
            key: properties[slot].path)
    }
}

extension CoreError {
    /// The same with the place in a batch where it happened.
    package func inRow(_ number: Int) -> CoreError { within("row \(number) of the batch") }
}
