import CorestoneModel
import CorestoneValues

/// The rows of a batch insertion. The values of a few rows at a time are in memory, by slot.
package final class BatchRows {
    package let entity: Entity
    /// The slots of the stored attributes that are not derived. All other slots are null.
    package let slots: [Int]
    /// The values of the row that is being filled; after `next`, those of the first row that `next` filled.
    package private(set) var values: UnsafeMutablePointer<ValueView>
    /// The number of further rows that can be filled without calling the application.
    ///
    /// Their values are valid as long as the values of the current row.
    package var ready = 0
    /// The attributes that the current row sets explicitly.
    package var given: Given
    private let places: UnsafeMutablePointer<ValueView>
    /// The maximum number of rows that `next` fills.
    package static let most = 32
    /// The number of the last row, counted from 1; 0 before the first row.
    package private(set) var number = 0
    private let fill: BatchInsertRequest.Fill
    private let layouts: UnsafeMutablePointer<SlotLayout>
    private let required: [Int]
    /// The unique constraints whose conflicts are resolved, starting with those of the root entity.
    package let constraints: [(owner: Entity, keys: [String], slots: [Int])]
    /// Whether a row can only update a row of its own entity, and does not delete other rows.
    let isUpsert: Bool
    /// The default values.
    private let defaults: [(slot: Int, value: PropertyValue)]
    /// The converted values to which views of the current rows point.
    private var convertedValues: [PropertyValue] = []
    private let checkCancelled: () throws -> Void

    /// The attributes that a row sets explicitly, by slot or by name.
    package enum Given {
        case slots([Int])
        case names([String])
    }

    init(
        _ entity: Entity, _ fill: @escaping BatchInsertRequest.Fill, named: [Int]?,
        uniqueKeys: Set<String>? = nil, checkCancelled: @escaping () throws -> Void
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
        isUpsert = uniqueKeys != nil
        constraints = entity.allUniqueConstraints.filter { uniqueKeys == nil || uniqueKeys == Set($0.attributes) }
            .map { ($0.entity, $0.attributes, entity.slots(of: $0.attributes)) }
        let written = Set(slots)
        defaults = entity.defaults.filter { written.contains($0.slot) }
        for place in 0..<BatchRows.most {
            values = values(at: place)
            clear()
        }
        values = places
    }

    deinit { places.deallocate() }

    /// Fills up to `count` rows, but only one if the application is called for each row.
    ///
    /// Returns the number of rows, and 0 after the last row. The values are valid until the next call.
    package func next(_ count: Int = 1) throws -> Int {
        defer { values = places }
        if !convertedValues.isEmpty { convertedValues.removeAll(keepingCapacity: true) }
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

    /// Returns the values of one of the rows that `next` filled.
    @inline(__always)
    package func values(at place: Int) -> UnsafeMutablePointer<ValueView> { places + place * Int(entity.slotCount) }

    /// Sets all attributes of the row to their defaults.
    package func clear() {
        for slot in slots { values[slot] = .null }
        for place in defaults.indices { values[defaults[place].slot] = ValueView(defaults[place].value) }
    }

    /// Sets one attribute to its default.
    package func setDefault(slot: Int) {
        for leaf in entity.attribute(slot).leaves.map({ Int($0.slot) }) {
            values[leaf] = .null
            for place in defaults.indices where defaults[place].slot == leaf {
                values[leaf] = ValueView(defaults[place].value)
            }
        }
    }

    /// Sets a value. Its memory must stay valid until the next call of `next`, because the value is not always copied.
    @inline(__always)
    package func set(_ view: ValueView, slot: Int) throws {
        if layouts[slot].accepts(view) { values[slot] = view } else { try convert(view.propertyValue, slot) }
    }

    package func set(_ value: PropertyValue, slot: Int) throws { try convert(value, slot) }

    /// Sets a row from a dictionary, whose keys are names of attributes or paths of composite elements.
    func setRow(_ row: [String: PropertyValue]) throws {
        clear()
        given = .names(Array(row.keys))
        for (name, value) in row {
            let slot: Int
            do { slot = try entity.batchSlot(of: name) } catch let error as CoreError { throw error.inRow(number + 1) }
            try convert(value, slot)
        }
    }

    /// Sets a row from the changed attributes of an object.
    func setRow(_ object: ManagedObject) throws {
        clear()
        guard let overlay = object.overlay else { return given = .slots([]) }
        var set: [Int] = []
        try overlay.forEachChanged { slot in
            // Transient properties are not stored, so the handler can set them.
            if layouts[slot].role == .transient || layouts[slot].role == .toOne && overlay[slot].isNull { return }
            try requireSettable(entity.properties[slot].path)
            try self.set(ValueView(overlay[slot]), slot: slot)
            if !defaults.contains(where: { $0.slot == slot && $0.value == overlay[slot] }) { set.append(slot) }
        }
        for collection in object.toManyRelationships {
            if let collection, collection.hasChanges { try requireSettable(collection.relationship.name) }
        }
        given = .slots(set)
    }

    /// Returns the slots of a stored row that an update sets: all, or only the explicitly set ones.
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
                convertedValues.append(part)
                values[leaf] = convertedValues.withUnsafeBufferPointer { ValueView($0[$0.count - 1]) }
            }
        } catch let error as CoreError { throw error.inRow(number + 1) }
    }

    private func missing(_ slot: Int) -> CoreError { entity.missingInBatch(slot).inRow(number) }

    private func requireSettable(_ name: String) throws {
        do { _ = try entity.batchSlot(of: name) } catch let error as CoreError { throw error.inRow(number + 1) }
    }
}

extension SlotLayout {
    /// Whether a value is valid for the slot without conversion.
    @inline(__always)
    fileprivate func accepts(_ view: ValueView) -> Bool {
        switch (kind, view.type) {
        // A composite attribute does not have a value itself; its elements have values.
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
    /// Returns the slot of a property that a batch request can set: a stored attribute that is not derived.
    package func batchSlot(of name: String) throws -> Int {
        let property = try requireProperty(named: name)
        let reason: String? =
            switch property {
            case let attribute as Attribute where attribute.derivation != nil:
                "is derived and computed by the store; leave it out"
            case is Relationship:
                "is a relationship, but a batch request sets only attributes; set it on objects, and call "
                    + "cst_context_save (save)"
            default: property.isTransient ? "is transient and not stored; leave it out" : nil
            }
        if let reason {
            throw CoreError(.invalidArgument, "\(self.name).\(name) \(reason)", entity: self.name, key: name)
        }
        return Int(property.slot)
    }

    /// Converts a value of an attribute to the values of the attribute's leaves, by slot.
    ///
    /// Rejects values that a store cannot hold, but does not run validation rules.
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

    /// Converts a value to the type of the attribute; for a transformable attribute, to bytes.
    private func acceptInBatch(_ value: PropertyValue, _ attribute: Attribute) throws -> PropertyValue {
        guard attribute.type == .transformable else { return try attribute.accept(value, for: self) }
        switch value {
        case .null, .bytes: return value
        default:
            guard let transformer = ValueTransformers.named(attribute.valueTransformerName) else {
                throw refusedInBatch(
                    attribute, value,
                    "needs the transformer \"\(attribute.valueTransformerName ?? "")\", which is not registered; register it "
                        + "with cst_transformer_register (register_transformer, ValueTransformers.register), or pass bytes"
                )
            }
            do { return .bytes(try transformer.bytes(for: value)) } catch let error as CoreError {
                let remedy =
                    error.status == .typeMismatch && !error.message.hasRemedy ? "; pass the bytes of the value" : ""
                throw error.within(
                    "\(name).\(attribute.path) cannot be transformed", entity: name, key: attribute.path, value: value,
                    ending: remedy)
            }
        }
    }

    private func refusedInBatch(_ attribute: Attribute, _ value: PropertyValue, _ reason: String) -> CoreError {
        CoreError(
            .validation, code: .managedObjectValidation, "\(name).\(attribute.path) \(reason)",
            entity: name, key: attribute.path, value: value)
    }

    func missingInBatch(_ slot: Int) -> CoreError {
        CoreError(
            .validation, code: .validationMissingMandatoryProperty,
            "\(name).\(properties[slot].path) is required and does not have a value; set it", entity: name,
            key: properties[slot].path)
    }
}

extension CoreError {
    /// Returns the same error with the number of the row in the batch.
    package func inRow(_ number: Int) -> CoreError { within("row \(number) of the batch") }
}
