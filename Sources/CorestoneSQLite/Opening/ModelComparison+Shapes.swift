import CorestoneModel

extension ModelComparison {
    /// Compares a model whose version hashes are ignored.
    ///
    /// Properties that model and file share must be compatible. The file may lack the other properties of the model.
    func compareShapes() throws -> Result {
        let schema = schema()
        if let difference = rootDifference() { throw error(difference) }
        let cached = try? contents.cachedModel(connection)
        if let cached, let difference = shapeDifference(from: cached) { throw error(difference) }
        if let difference = missingKey(in: schema) { throw error(difference) }
        for table in schema.tables { if let difference = typeDifference(in: table) { throw error(difference) } }
        try requireFittingIntegers(in: schema, cached)
        var gaps = ModelGaps(of: schema, in: contents)
        gaps.entities = model.preorder.filter { contents.number(ofEntity: $0.name) == nil }
        gaps.hidden = try hiddenEntities(schema)
        return Result(schema: schema, doubt: tableDoubt(schema), gaps: gaps)
    }

    /// Returns the first entity whose root entity in the store differs from that in the model.
    private func rootDifference() -> Difference? {
        let roots = contents.rootsByNumber
        for entity in model.preorder {
            guard let number = contents.number(ofEntity: entity.name), let root = roots[number],
                root.name != entity.root.name
            else { continue }
            return Difference(
                text:
                    "the root entity of \(entity.name) is \(root.name) in the store, but \(entity.root.name) in the model",
                entity: entity.name, key: nil)
        }
        return nil
    }

    /// Returns the first property that has another kind in the store's cached model.
    private func shapeDifference(from cached: Model) -> Difference? {
        for entity in model.preorder {
            guard let old = cached.entity(named: entity.name) else { continue }
            let former = Dictionary(old.storedProperties.map { ($0.name, $0) }) { first, _ in first }
            for property in entity.storedProperties {
                guard let other = former[property.name], let text = property.shapeDifference(from: other) else {
                    continue
                }
                return Difference(
                    text: "\(entity.name).\(property.name) \(text)", entity: entity.name, key: property.name)
            }
        }
        return nil
    }

    /// Throws if an integer is outside the range of the type that its attribute has in the model.
    ///
    /// - Parameter cached: The store's cached model. Without it, every attribute of a narrow type may have been wider.
    private func requireFittingIntegers(in schema: StoreSchema, _ cached: Model?) throws {
        if contents.document.metadata?.isOfAnotherModel(than: model) == false { return }
        for table in schema.tables {
            let present = contents.tables[table.name] ?? [:]
            for column in table.columns where column.role == .attribute && present[column.name] != nil {
                guard let attribute = column.property as? Attribute, let range = attribute.type.narrowRange,
                    attribute.isNarrower(than: cached),
                    let value = try valueBeyond(range, column.name, table, schema)
                else { continue }
                let difference = Difference(
                    text:
                        "\(attribute.entity.name).\(attribute.path) is \(value) in the store, but its type in the "
                        + "model is \(attribute.type.displayName) (\(range.lowerBound) to \(range.upperBound))",
                    entity: attribute.entity.name, key: attribute.path)
                throw error(difference, value: .int(value))
            }
        }
    }

    /// Returns an integer of a column outside the range; nil if all are within it.
    private func valueBeyond(
        _ range: ClosedRange<Int64>, _ column: String, _ table: TableSchema, _ schema: StoreSchema
    ) throws -> Int64? {
        let purpose = "compare \(contents.place.given) with the model"
        let numbers = table.entities.map { "\(schema.number(of: $0))" }.joined(separator: ", ")
        let query = try connection.prepare(
            "SELECT \(column) FROM \(table.name) WHERE typeof(\(column)) = 'integer' AND \(column) NOT BETWEEN "
                + "\(range.lowerBound) AND \(range.upperBound) AND Z_ENT IN (\(numbers)) LIMIT 1", purpose)
        defer { query.reset() }
        return try query.step(purpose) ? query.integer(0) : nil
    }

    /// Returns the entities that the model lacks, and that have objects in a table of the model.
    private func hiddenEntities(_ schema: StoreSchema) throws -> [ModelGaps.Hidden] {
        let roots = contents.rootsByNumber
        var hidden: [ModelGaps.Hidden] = []
        for stored in contents.entities where model.entity(named: stored.name) == nil {
            let root = roots[stored.number] ?? stored
            guard let table = schema.tables.first(where: { $0.root.name == root.name }),
                contents.tables[table.name] != nil,
                try connection.finds(
                    "SELECT 1 FROM \(table.name) WHERE Z_ENT = \(stored.number) LIMIT 1",
                    purpose: "compare \(contents.place.given) with the model")
            else { continue }
            hidden.append(ModelGaps.Hidden(name: stored.name, table: table))
        }
        return hidden
    }
}

extension StoreContents {
    /// The root entity of each entity, by number. In a damaged file, superentities may form a cycle.
    fileprivate var rootsByNumber: [Int64: StoredEntity] {
        let byNumber = Dictionary(entities.map { ($0.number, $0) }) { first, _ in first }
        var roots: [Int64: StoredEntity] = [:]
        for entity in entities {
            var (root, path): (StoredEntity, Set<Int64>) = (entity, [])
            while roots[root.number] == nil, let parent = byNumber[root.parent], path.insert(root.number).inserted {
                root = parent
            }
            let found = roots[root.number] ?? root
            roots[root.number] = found
            for number in path { roots[number] = found }
        }
        return roots
    }
}

extension Entity {
    fileprivate var storedProperties: [Property] { ownAttributes as [Property] + ownRelationships as [Property] }
}

extension AttributeType {
    /// The values of an integer type that is narrower than 64 bits; nil for every other type.
    fileprivate var narrowRange: ClosedRange<Int64>? {
        switch self {
        case .integer16: Int64(Int16.min)...Int64(Int16.max)
        case .integer32: Int64(Int32.min)...Int64(Int32.max)
        default: nil
        }
    }
}

extension Attribute {
    /// Whether the attribute has more bits in another model; true if it is not a 16-bit or 32-bit integer there.
    fileprivate func isNarrower(than other: Model?) -> Bool {
        guard let entity = other?.entity(named: entity.name) else { return true }
        let stored = sequence(first: entity, next: \.parent).flatMap(\.ownAttributes).flatMap(\.leaves)
        let former = stored.first { $0.path == path }?.type.narrowRange
        guard let former, let own = type.narrowRange else { return true }
        return own.upperBound < former.upperBound
    }
}

extension Property {
    /// Returns why values of `stored` cannot be values of this property; nil if they can.
    ///
    /// - Parameter stored: The property of the same name in another model.
    fileprivate func shapeDifference(from stored: Property) -> String? {
        if isTransient || stored.isTransient { return nil }
        switch (self, stored) {
        case (let own as Attribute, let other as Attribute):
            if own.type.isRead(as: other.type) { return nil }
            return "is of type \(other.type.displayName) in the store, but \(own.type.displayName) in the model"
        case (let own as Relationship, let other as Relationship):
            if own.isToMany != other.isToMany {
                return "is \(other.isToMany ? "to-many" : "to-one") in the store, but not in the model"
            }
            let (here, there) = (own.destination.name, other.destination.name)
            return here == there ? nil : "has the destination \(there) in the store, but \(here) in the model"
        case (is Relationship, _): return "is an attribute in the store, but a relationship in the model"
        default: return stored is Relationship ? "is a relationship in the store, but an attribute in the model" : nil
        }
    }
}
