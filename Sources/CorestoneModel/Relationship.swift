import CorestoneValues

public enum DeleteRule: UInt32, Sendable, CaseIterable { case noAction = 0, nullify, cascade, deny }

/// A property that holds other objects.
public final class Relationship: Property, @unchecked Sendable {
    public internal(set) unowned var destination: Entity
    /// The destination's place in the model. Set by `Model.freeze`.
    package private(set) var destinationIndex: UInt32 = 0
    /// The destination without a check that it lives: for those who keep the model. Set by `Model.freeze`.
    package private(set) unowned(unsafe) var settledDestination: Entity
    public internal(set) unowned var inverse: Relationship?
    /// The inverse without a check that it lives: for those who keep the model. Set by `Model.freeze`.
    package private(set) unowned(unsafe) var settledInverse: Relationship?
    /// Of a draft, or after a text that is not the whole model: the destination that it names and the model lacks, an empty one where
    /// it names none. `destination` is only a stand-in then.
    public internal(set) var missingDestination: String?
    /// Whether a save learns the relationship's pairs from this side: no to-one side's row says them, and no other to-many
    /// side does. Set by `Model.freeze`.
    package private(set) var tellsPairs = false
    public private(set) var deleteRule = DeleteRule.nullify
    public internal(set) var isOrdered = false
    public internal(set) var minimumCount: UInt32 = 0
    /// 1 makes it to-one; 0 is no bound.
    public internal(set) var maximumCount: UInt32 = 1
    public var isToMany: Bool { maximumCount != 1 }

    init(name: String, destination: Entity, entity: Entity) {
        self.destination = destination
        settledDestination = destination
        super.init(name: name, entity: entity)
    }

    /// Makes the two each other's inverse; a relationship may be its own. With nil it has none any more.
    public func setInverse(_ other: Relationship?) throws {
        try change {
            guard let other else { return letGoOfInverse() }
            guard other.entity.model === entity.model else {
                throw modelError(
                    "\(other.entity.name).\(other.name) belongs to another model and cannot be the inverse of \(entity.name).\(name); pass a relationship of the same model",
                    entity: entity.name, key: name)
            }
            guard !other.isRemoved else {
                throw modelError(
                    "\(other.entity.name).\(other.name) was removed from its model and cannot be the inverse of "
                        + "\(entity.name).\(name); pass a relationship of the same model", entity: entity.name,
                    key: name)
            }
            if let old = inverse, old !== other { old.inverse = nil }
            if let old = other.inverse, old !== self { old.inverse = nil }
            inverse = other
            other.inverse = self
        }
    }

    /// Lets the relationship lead to another entity of the model. An inverse that belongs to neither is none any more.
    public func setDestination(_ newDestination: Entity) throws {
        try change {
            try entity.checkDestination(newDestination, of: name)
            (destination, missingDestination) = (newDestination, nil)
            if let inverse, !leads(to: inverse.entity) { letGoOfInverse() }
        }
    }

    /// To-many without bounds of its own, or to-one, which has no order.
    public func setToMany(_ value: Bool) throws {
        try change {
            if value == isToMany { return }
            maximumCount = value ? 0 : 1
            minimumCount = 0
            if !value { isOrdered = false }
        }
    }

    public func setOrdered(_ value: Bool) throws {
        try change {
            guard isToMany || !value else { throw entity.orderedToOne(name) }
            isOrdered = value
        }
    }

    public func setDeleteRule(_ rule: DeleteRule) throws { try change { deleteRule = rule } }

    public func setCounts(minimum: UInt32, maximum: UInt32) throws {
        try change {
            guard maximum == 0 || minimum <= maximum else {
                throw modelError(
                    "\(entity.name).\(name) cannot require at least \(minimum) members and allow at most \(maximum); raise the maximum or lower the minimum",
                    entity: entity.name, key: name, value: .int(Int64(minimum)))
            }
            guard maximum != 1 || !isOrdered else {
                throw modelError(
                    "\(entity.name).\(name) is ordered and cannot be limited to one member; make it unordered first",
                    entity: entity.name, key: name, value: .int(Int64(maximum)))
            }
            minimumCount = minimum
            maximumCount = maximum
        }
    }

    func letGoOfInverse() {
        inverse?.inverse = nil
        inverse = nil
    }

    /// Whether objects of an entity may be among its targets.
    func leads(to other: Entity) -> Bool { other.isKind(of: destination) || destination.isKind(of: other) }

    func settle() {
        destinationIndex = destination.index
        settledDestination = destination
        settledInverse = inverse
        tellsPairs = inverse.map { $0.isToMany && isToMany && speaks(over: $0) } ?? isToMany
    }

    /// Which of two to-many inverses tells the pairs: the one whose entity has the lower number.
    private func speaks(over other: Relationship) -> Bool {
        if self === other { return true }
        let (a, b) = (entity.number, other.entity.number)
        return a == b ? name < other.name : a < b
    }

    /// - Throws: `.model` when the relationship has only a stand-in for its destination.
    func requireDestination() throws {
        guard let missing = missingDestination else { return }
        let near = nearestName(to: missing, among: entity.model.entities.map(\.name)).map { "did you mean \"\($0)\"?" }
        throw modelError(
            missing.isEmpty
                ? "\(entity.name).\(name) does not have a destination; set one"
                : "\(entity.name).\(name) has the destination \"\(missing)\", which is not an entity of the model; "
                    + (near ?? "add the entity, or set another destination"), entity: entity.name, key: name,
            value: missing.isEmpty ? nil : .string(missing))
    }

    func check() throws {
        try requireDestination()
        guard let inverse else { return }
        guard inverse.destination.isKind(of: entity) || entity.isKind(of: inverse.destination) else {
            throw modelError(
                "\(entity.name).\(name) has the inverse \(inverse.entity.name).\(inverse.name), whose destination is "
                    + "\(inverse.destination.name) instead of \(entity.name); set that destination to \(entity.name), or set "
                    + "another inverse", entity: entity.name, key: name)
        }
        guard leads(to: inverse.entity) else {
            throw modelError(
                "\(entity.name).\(name) has the destination \(destination.name), but its inverse \"\(inverse.name)\" "
                    + "belongs to \(inverse.entity.name); set the destination to \(inverse.entity.name), or set another inverse",
                entity: entity.name, key: name)
        }
    }
}
