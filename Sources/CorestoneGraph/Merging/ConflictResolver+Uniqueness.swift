import CorestoneModel
import CorestonePredicate
import CorestoneValues

extension ConflictResolver {
    /// Returns the causes of a constraint violation in a save.
    ///
    /// The causes are objects of the save with equal values. Without such objects, they are stored rows with equal
    /// values that the save does not change.
    func constraintConflicts(in part: SavePlan, _ store: Store) throws -> [ConstraintConflict] {
        let groups = try UniqueGroups(of: part.inserted + part.updated)
        let duplicates = groups.list.filter { $0.objects.count > 1 }
        if !duplicates.isEmpty {
            return duplicates.map {
                ConstraintConflict($0.objects, $0.place.keys, $0.place.values, in: context, store: store)
            }
        }
        var conflicts: [ConstraintConflict] = []
        for places in groups.byConstraint {
            for start in stride(from: 0, to: places.count, by: 100) {
                conflicts += try storedConflicts(places[start..<min(start + 100, places.count)], groups, store)
            }
        }
        return conflicts
    }

    /// Returns the conflicts of one constraint with stored rows.
    private func storedConflicts(
        _ places: ArraySlice<UniqueKey>, _ groups: UniqueGroups, _ store: Store
    ) throws -> [ConstraintConflict] {
        guard let first = places.first else { return [] }
        let predicate = try Predicate.or(
            places.map { place in
                try .and(
                    zip(place.keys, place.values).map {
                        .comparison(Comparison(.key($0), .equal, .constant($1)))
                    })
            })
        return try context.writing(store) {
            let state = store.rowCache.state
            store.backing.endRead()
            let batch = try store.backing.fetch(StoreFetch(entity: first.entity, predicate: predicate)).batch
            defer { withExtendedLifetime(batch) {} }
            return batch.records.compactMap { record in
                let entity = context.entity(at: record.header.pointee.entity)
                let values = entity.slots(of: first.keys).map { entity.value(of: record, $0, store) }
                let place = UniqueKey(entity: first.entity, keys: first.keys, values: values)
                guard let object = groups.owners(of: place).first else { return nil }
                let known = context.identityMap.registered(store: store, root: entity, primaryKey: record.primaryKey)
                // The object's own row is not a conflict, nor are rows whose values this save changes.
                if let known, known === object || known.isDeleted || known.isUpdated && !known.has(place) { return nil }
                store.rowCache.replace(record, root: entity.root, asOf: state)
                return ConstraintConflict([object], place.keys, values, database: record, in: context, store: store)
            }
        }
    }
}

/// The values of a unique constraint.
struct UniqueKey: Hashable {
    let entity: Entity
    let keys: [String]
    let values: [PropertyValue]

    static func == (a: UniqueKey, b: UniqueKey) -> Bool {
        a.entity === b.entity && a.keys == b.keys && a.values == b.values
    }

    func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

/// The objects by the values of their unique constraints, in the order of addition.
struct UniqueGroups {
    private(set) var list: [(place: UniqueKey, objects: [ManagedObject])] = []
    private var places: [UniqueKey: Int] = [:]

    init(of objects: [ManagedObject]) throws {
        for object in objects {
            for (entity, constraint) in object.entity.allUniqueConstraints {
                let values = try constraint.map { try object.value(forKeyPath: $0) }
                if values.contains(where: \.isNull) { continue }
                let place = UniqueKey(entity: entity, keys: constraint, values: values)
                if let known = places[place] {
                    list[known].objects.append(object)
                } else {
                    places[place] = list.count
                    list.append((place, [object]))
                }
            }
        }
    }

    func owners(of place: UniqueKey) -> [ManagedObject] { places[place].map { list[$0].objects } ?? [] }

    /// The values grouped by constraint.
    var byConstraint: [[UniqueKey]] {
        list.map(\.place).reduce(into: []) { lists, place in
            if let known = lists.firstIndex(where: { $0[0].entity === place.entity && $0[0].keys == place.keys }) {
                lists[known].append(place)
            } else {
                lists.append([place])
            }
        }
    }
}

extension ManagedObject {
    fileprivate func has(_ place: UniqueKey) -> Bool {
        (try? place.keys.map { try value(forKeyPath: $0) } == place.values) ?? false
    }
}

extension Entity {
    /// The unique constraints of the entity and its superentities, with the entities that declare them.
    package var allUniqueConstraints: [(entity: Entity, attributes: [String])] {
        var known: Set<Set<String>> = []
        return sequence(first: self, next: \.parent).reversed().flatMap { entity in
            entity.uniqueConstraints.filter { known.insert(Set($0)).inserted }.map { (entity, $0) }
        }
    }

    /// Returns the slots of a constraint's properties.
    package func slots(of paths: [String]) -> [Int] {
        paths.compactMap { path in properties.firstIndex { $0.path == path } }
    }
}
