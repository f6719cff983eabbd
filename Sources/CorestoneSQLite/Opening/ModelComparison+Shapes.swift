import CorestoneModel

extension ModelComparison {
    /// Of a model that ignores versions: properties that both have must be of one kind. The file may lack all else.
    func compareShapes() throws -> Result {
        let schema = schema()
        if let cached = try? contents.cachedModel(connection), let difference = shapeDifference(from: cached) {
            throw error(difference)
        }
        if let difference = missingKey(in: schema) { throw error(difference) }
        for table in schema.tables { if let difference = typeDifference(in: table) { throw error(difference) } }
        var gaps = ModelGaps(of: schema, in: contents)
        gaps.entities = model.preorder.filter { contents.number(ofEntity: $0.name) == nil }
        gaps.hidden = try hiddenEntities(schema)
        return Result(schema: schema, doubt: tableDoubt(schema), gaps: gaps)
    }

    /// The first property that means something else in the model that the store carries.
    private func shapeDifference(from cached: Model) -> Difference? {
        for entity in model.preorder {
            guard let old = cached.entity(named: entity.name) else { continue }
            if rootName(old) != rootName(entity) {
                return Difference(
                    text:
                        "\(entity.name) inherits from \(rootName(old)) in the store, and from \(rootName(entity)) in the "
                        + "model", entity: entity.name, key: nil)
            }
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

    private func rootName(_ entity: Entity) -> String {
        var root = entity
        while let parent = root.parent { root = parent }
        return root.name
    }

    /// Entities that the model lacks, and that have objects in the table of one that it has.
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
    /// The root above each entity, by number. In a damaged file parents may lead round in a circle.
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

extension Property {
    /// Why values of `stored`, the property of that name in another model, are none of this one's; nil when they are.
    fileprivate func shapeDifference(from stored: Property) -> String? {
        if isTransient || stored.isTransient { return nil }
        switch (self, stored) {
        case (let own as Attribute, let other as Attribute):
            if own.type.isRead(as: other.type) { return nil }
            return "is \"\(other.type.displayName)\" in the store, and \(own.type.displayName) in the model"
        case (let own as Relationship, let other as Relationship):
            if own.isToMany != other.isToMany {
                return "is \(other.isToMany ? "to-many" : "to-one") in the store, and not in the model"
            }
            let (here, there) = (own.destination.name, other.destination.name)
            return here == there ? nil : "leads to \(there) in the store, and to \(here) in the model"
        case (is Relationship, _): return "is no relationship in the store, and one in the model"
        default: return stored is Relationship ? "is a relationship in the store, and none in the model" : nil
        }
    }
}
