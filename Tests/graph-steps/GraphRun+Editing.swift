import Corestone

/// The steps that change objects.
extension GraphRun {
    private static let mostObjects = 24

    func step(_ number: UInt64) throws {
        var dice = Dice(seed: number)
        switch dice.below(100) {
        case 0..<13: current.items.count < Self.mostObjects ? try insert(&dice) : try delete(&dice)
        case 13..<34: try setAttribute(&dice)
        case 34..<50: try setTarget(&dice)
        case 50..<58: try addMember(&dice)
        case 58..<64: try removeMember(&dice)
        case 64..<71: try arrange(&dice)
        case 71..<76: try delete(&dice)
        case 76..<81: try save(&dice)
        case 81..<87: try undo(times: 1 + dice.below(3))
        case 87..<91: try redo(times: 1 + dice.below(3))
        case 91: try undoAndRedoAll()
        case 92: try rollBack()
        case 93..<95: try refresh(&dice)
        case 95: try refreshAll()
        case 96..<99: try changeElsewhere(&dice)
        default: try saveInvalid(&dice)
        }
        if dice.chance(50) { try endEvent() }
        if dice.chance(12) { try compare() }
    }

    private func pick(_ dice: inout Dice, kind: Int? = nil) -> Int? {
        let serials = kind.map { current.serials(kind: $0) } ?? current.serials
        return serials.isEmpty ? nil : dice.pick(serials)
    }

    private func insert(_ dice: inout Dice) throws {
        let kind = dice.pick([0, 1, 1, 1, 2])
        let serial = nextSerial()
        note("insert \(Schema.kinds[kind]) \(serial)")
        let object = try context.insert(Schema.kinds[kind])
        try object.set("serial", serial)
        objects[serial] = object
        change { $0.items[serial] = Item(serial: serial, kind: kind) }
    }

    private func setAttribute(_ dice: inout Dice) throws {
        guard let serial = pick(&dice), let kind = current.items[serial]?.kind else { return }
        let place = dice.below(Schema.attributes[kind].count)
        let attribute = Schema.attributes[kind][place]
        let becomesNull = dice.chance(10) && !attribute.isRequired && base.items[serial]?.values[place] != nil
        let value = becomesNull ? nil : nextValue()
        if current.items[serial]?.values[place] == value { return }
        note("set \(serial).\(attribute.name) to \(value.map { "\($0)" } ?? "nil")")
        try set(value, attribute, of: object(serial))
        change { $0.items[serial]!.values[place] = value }
    }

    private func pickRelationship(_ dice: inout Dice, where suits: (Schema.Relationship) -> Bool) -> (Int, Int)? {
        guard let serial = pick(&dice), let kind = current.items[serial]?.kind else { return nil }
        let places = Schema.relationships[kind].indices.filter { suits(Schema.relationships[kind][$0]) }
        return places.isEmpty ? nil : (serial, dice.pick(places))
    }

    private func setTarget(_ dice: inout Dice) throws {
        guard let (serial, place) = pickRelationship(&dice, where: { !$0.isToMany }) else { return }
        let relationship = current.relationship(serial, place)
        let other = dice.chance(15) ? nil : pick(&dice, kind: relationship.destination)
        if current.items[serial]!.links[place] == (other.map { [$0] } ?? []) { return }
        note("set \(serial).\(relationship.name) to \(other.map { "\($0)" } ?? "nil")")
        try object(serial).set(relationship.name, try other.map(object))
        change { world in
            if let other { return world.link(serial, place, other) }
            for old in world.items[serial]!.links[place] { world.unlink(serial, place, old) }
        }
    }

    private func addMember(_ dice: inout Dice) throws {
        guard let (serial, place) = pickRelationship(&dice, where: \.isToMany) else { return }
        let relationship = current.relationship(serial, place)
        guard let other = pick(&dice, kind: relationship.destination), other != serial,
            !current.items[serial]!.links[place].contains(other)
        else { return }
        note("add \(other) to \(serial).\(relationship.name)")
        try object(serial).add(object(other), to: relationship.name)
        change { $0.link(serial, place, other) }
    }

    private func removeMember(_ dice: inout Dice) throws {
        guard let (serial, place) = pickRelationship(&dice, where: \.isToMany) else { return }
        let members = current.items[serial]!.links[place]
        guard !members.isEmpty else { return }
        let (name, other) = (current.relationship(serial, place).name, dice.pick(members))
        note("remove \(other) from \(serial).\(name)")
        try object(serial).remove(object(other), from: name)
        change { $0.unlink(serial, place, other) }
    }

    /// Inserts a person at an index of a team's members. The person may already be a member.
    private func arrange(_ dice: inout Dice) throws {
        guard let team = pick(&dice, kind: 0), let person = pick(&dice, kind: 1) else { return }
        let members = current.items[team]!.links[0]
        let isMember = members.contains(person)
        let index = dice.below(isMember ? members.count : members.count + 1)
        if isMember && members[index] == person { return }
        note("insert \(person) at \(index) in \(team).members")
        try object(team).insert(object(person), at: index, in: "members")
        change { $0.link(team, 0, person, at: index) }
    }

    /// Deletes an object and ends the event, which applies the delete rules.
    private func delete(_ dice: inout Dice) throws {
        guard let serial = pick(&dice) else { return }
        note("delete \(serial)")
        try context.delete(object(serial))
        change { $0.delete(serial) }
        try endEvent()
    }
}
