import Corestone

/// The order of entities in a dump: each after the destinations of its relationships, unless there are cycles.
///
/// Required to-one relationships have the highest weight. The algorithm repeatedly selects the remaining entity with
/// the lowest weight of relationships to other remaining entities, by name if several are equal. After each step, only
/// entities with relationships to the selected entity are updated.
struct DumpOrder {
    private let entities: [Entity]
    /// The weight of each entity's relationships to remaining entities.
    private var weights: [Int]
    private var isSelected: [Bool]
    private let places: [ObjectIdentifier: Int]
    /// The entities with relationships to a destination, and the weights of these relationships.
    private var referrers: [ObjectIdentifier: [(place: Int, weight: Int)]] = [:]
    /// For each entity, the number of remaining entities that are the entity or inherit from it.
    private var remainingCounts: [ObjectIdentifier: Int] = [:]
    private var heap = Heap()

    static func of(_ entities: [Entity], isWhole: Bool) -> [Entity] {
        var order = DumpOrder(entities, isWhole)
        return order.run()
    }

    private init(_ unsorted: [Entity], _ isWhole: Bool) {
        entities = unsorted.sorted { $0.name < $1.name }
        weights = [Int](repeating: 0, count: entities.count)
        isSelected = [Bool](repeating: false, count: entities.count)
        places = Dictionary(
            entities.enumerated().map { (ObjectIdentifier($0.element), $0.offset) },
            uniquingKeysWith: { first, _ in first })
        for (place, entity) in entities.enumerated() {
            for relationship in entity.relationships {
                let weight = DumpOrder.weight(relationship, isWhole)
                if weight > 0 {
                    referrers[ObjectIdentifier(relationship.destination), default: []].append((place, weight))
                }
            }
            for each in sequence(first: entity, next: \.parent) {
                remainingCounts[ObjectIdentifier(each), default: 0] += 1
            }
        }
        for (destination, owners) in referrers {
            for owner in owners where countOthers(destination, than: owner.place) > 0 {
                weights[owner.place] += owner.weight
            }
        }
        for (place, weight) in weights.enumerated() { heap.push(Heap.Item(weight: weight, place: place)) }
    }

    private static func weight(_ relationship: Relationship, _ isWhole: Bool) -> Int {
        if !relationship.isToMany { return relationship.isOptional ? 10 : 10_000 }
        return DumpPlan.contains(relationship, isWhole) ? 1 : 0
    }

    /// Returns the number of remaining entities that are a destination or inherit from it, without one entity.
    private func countOthers(_ destination: ObjectIdentifier, than place: Int) -> Int {
        let isMember = sequence(first: entities[place], next: \.parent).contains { ObjectIdentifier($0) == destination }
        return (remainingCounts[destination] ?? 0) - (isMember ? 1 : 0)
    }

    private mutating func run() -> [Entity] {
        var result: [Entity] = []
        while let item = heap.pop() {
            // Outdated items are skipped; an entity whose weight changed was pushed again.
            guard !isSelected[item.place], item.weight == weights[item.place] else { continue }
            isSelected[item.place] = true
            result.append(entities[item.place])
            for each in sequence(first: entities[item.place], next: \.parent) { updateWeights(afterSelecting: each) }
        }
        return result
    }

    /// Updates the weights after the destination, or an entity that inherits from it, was selected.
    private mutating func updateWeights(afterSelecting destination: Entity) {
        let key = ObjectIdentifier(destination)
        guard let count = remainingCounts[key], let owners = referrers[key] else { return }
        remainingCounts[key] = count - 1
        if count == 1 {
            for owner in owners where !isMember(owner.place, of: destination) { reduceWeight(of: owner) }
        } else if count == 2, let last = destination.withDescendants.first(where: isRemaining) {
            // A relationship of an entity to itself does not count.
            let place = places[ObjectIdentifier(last)]
            for owner in owners where owner.place == place { reduceWeight(of: owner) }
        }
    }

    private func isMember(_ place: Int, of destination: Entity) -> Bool { entities[place].isKind(of: destination) }

    private func isRemaining(_ entity: Entity) -> Bool {
        places[ObjectIdentifier(entity)].map { !isSelected[$0] } ?? false
    }

    private mutating func reduceWeight(of owner: (place: Int, weight: Int)) {
        guard !isSelected[owner.place] else { return }
        weights[owner.place] -= owner.weight
        heap.push(Heap.Item(weight: weights[owner.place], place: owner.place))
    }
}

/// A heap with the lowest weight first, and the lowest index among equal weights.
private struct Heap {
    struct Item: Comparable {
        let weight: Int
        let place: Int
        static func < (a: Item, b: Item) -> Bool { (a.weight, a.place) < (b.weight, b.place) }
    }

    private var items: [Item] = []

    mutating func push(_ item: Item) {
        items.append(item)
        var place = items.count - 1
        while place > 0, items[place] < items[(place - 1) / 2] {
            items.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func pop() -> Item? {
        guard let first = items.first, let last = items.popLast() else { return nil }
        if items.isEmpty { return first }
        items[0] = last
        var place = 0
        while 2 * place + 1 < items.count {
            var least = 2 * place + 1
            if least + 1 < items.count, items[least + 1] < items[least] { least += 1 }
            guard items[least] < items[place] else { break }
            items.swapAt(place, least)
            place = least
        }
        return first
    }
}
