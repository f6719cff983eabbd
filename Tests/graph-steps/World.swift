/// One object of a world, with the serial numbers of related objects.
struct Item: Equatable {
    let serial: Int
    let kind: Int
    /// Values by the index of the attribute in the schema. All values are numbers; a string is derived from one.
    var values: [Int?]
    /// Serial numbers by the index of the relationship: at most one for to-one, in order if ordered, else ascending.
    var links: [[Int]]

    init(serial: Int, kind: Int) {
        (self.serial, self.kind) = (serial, kind)
        values = Schema.attributes[kind].map { $0.isRequired ? 0 : nil }
        links = Schema.relationships[kind].map { _ in [] }
    }
}

/// The expected contents of a context: plain values, and both sides of every relationship.
///
/// The reference for comparisons with Corestone, so it is written for clarity only.
struct World: Equatable {
    var items: [Int: Item] = [:]

    var serials: [Int] { items.keys.sorted() }
    func serials(kind: Int) -> [Int] { serials.filter { items[$0]?.kind == kind } }

    func relationship(_ serial: Int, _ place: Int) -> Schema.Relationship {
        Schema.relationships[items[serial]!.kind][place]
    }

    /// Adds another object as member or target, on both sides. `index` is its index in an ordered relationship, or
    /// nil for the end.
    mutating func link(_ serial: Int, _ place: Int, _ other: Int, at index: Int? = nil) {
        let relationship = relationship(serial, place)
        if items[serial]!.links[place].contains(other) { return move(serial, place, other, to: index) }
        if !relationship.isToMany { for old in items[serial]!.links[place] { unlink(serial, place, old) } }
        if !Schema.relationships[relationship.destination][relationship.inverse].isToMany {
            for old in items[other]!.links[relationship.inverse] { unlink(other, relationship.inverse, old) }
        }
        enter(serial, place, other, at: index)
        enter(other, relationship.inverse, serial, at: nil)
    }

    mutating func unlink(_ serial: Int, _ place: Int, _ other: Int) {
        let inverse = relationship(serial, place).inverse
        items[serial]!.links[place].removeAll { $0 == other }
        items[other]!.links[inverse].removeAll { $0 == serial }
    }

    private mutating func enter(_ serial: Int, _ place: Int, _ other: Int, at index: Int?) {
        let relationship = relationship(serial, place)
        if let index, relationship.isOrdered {
            items[serial]!.links[place].insert(other, at: index)
        } else {
            items[serial]!.links[place].append(other)
        }
        if relationship.isToMany && !relationship.isOrdered { items[serial]!.links[place].sort() }
    }

    /// Moves an existing member to an index. Without an index, it stays in its position.
    private mutating func move(_ serial: Int, _ place: Int, _ other: Int, to index: Int?) {
        guard let index, relationship(serial, place).isOrdered else { return }
        items[serial]!.links[place].removeAll { $0 == other }
        items[serial]!.links[place].insert(other, at: min(index, items[serial]!.links[place].count))
    }

    /// Deletes an object and applies the delete rules.
    mutating func delete(_ serial: Int) {
        guard let item = items[serial] else { return }
        for (place, members) in item.links.enumerated() {
            let relationship = relationship(serial, place)
            // Members that an earlier cascade deleted no longer exist.
            for member in members where items[member] != nil {
                unlink(serial, place, member)
                if relationship.cascades { delete(member) }
            }
        }
        items[serial] = nil
    }

    /// Whether a save would succeed.
    var isValid: Bool {
        items.values.allSatisfy { item in
            zip(Schema.attributes[item.kind], item.values).allSatisfy { !$0.isRequired || $1 != nil }
        }
    }

    /// The world without values that are not stored.
    var persistent: World {
        var copy = self
        for (serial, item) in items {
            for (place, attribute) in Schema.attributes[item.kind].enumerated() where attribute.isTransient {
                copy.items[serial]!.values[place] = nil
            }
        }
        return copy
    }
}
