/// One object of a world, with the serial numbers of those that it leads to.
struct Item: Equatable {
    let serial: Int
    let kind: Int
    /// By the place of the attribute in the schema. Numbers for all: a text is made of one.
    var values: [Int?]
    /// By the place of the relationship: no or one number for a to-one one, in order for an ordered one, else ascending.
    var links: [[Int]]

    init(serial: Int, kind: Int) {
        (self.serial, self.kind) = (serial, kind)
        values = Schema.attributes[kind].map { $0.isRequired ? 0 : nil }
        links = Schema.relationships[kind].map { _ in [] }
    }
}

/// What a context ought to hold: plain values, and both sides of every relationship.
///
/// The reference that Corestone is compared with, hence written for clearness alone.
struct World: Equatable {
    var items: [Int: Item] = [:]

    var serials: [Int] { items.keys.sorted() }
    func serials(kind: Int) -> [Int] { serials.filter { items[$0]?.kind == kind } }

    func relationship(_ serial: Int, _ place: Int) -> Schema.Relationship {
        Schema.relationships[items[serial]!.kind][place]
    }

    /// Makes another object a member or the target, on both sides. `index` is its place in an ordered relationship, the end if nil.
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

    /// A member that is there already moves only where an index says so.
    private mutating func move(_ serial: Int, _ place: Int, _ other: Int, to index: Int?) {
        guard let index, relationship(serial, place).isOrdered else { return }
        items[serial]!.links[place].removeAll { $0 == other }
        items[serial]!.links[place].insert(other, at: min(index, items[serial]!.links[place].count))
    }

    /// By the delete rules.
    mutating func delete(_ serial: Int) {
        guard let item = items[serial] else { return }
        for (place, members) in item.links.enumerated() {
            let relationship = relationship(serial, place)
            // One that went with an earlier one is not there any more.
            for member in members where items[member] != nil {
                unlink(serial, place, member)
                if relationship.cascades { delete(member) }
            }
        }
        items[serial] = nil
    }

    /// What a save would refuse.
    var isValid: Bool {
        items.values.allSatisfy { item in
            zip(Schema.attributes[item.kind], item.values).allSatisfy { !$0.isRequired || $1 != nil }
        }
    }

    /// Without what a store does not hold.
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
