import CorestoneValues

/// The rule for a relationship's members when an object is deleted, with the values of the C interface.
public enum DeleteRule: UInt32, Sendable, CaseIterable { case noAction = 0, nullify, cascade, deny }

/// A property that refers to other objects.
public final class Relationship: Property, @unchecked Sendable {
    public internal(set) unowned var destination: Entity
    /// The index of the destination in the model. Set by `Model.freeze`.
    package private(set) var destinationIndex: UInt32 = 0
    /// The destination as an unchecked reference, for callers that retain the model. Set by `Model.freeze`.
    package private(set) unowned(unsafe) var resolvedDestination: Entity
    public internal(set) unowned var inverse: Relationship?
    /// The inverse as an unchecked reference, for callers that retain the model. Set by `Model.freeze`.
    package private(set) unowned(unsafe) var resolvedInverse: Relationship?
    /// The name of a destination that is missing from a draft or an incomplete model text; otherwise nil.
    ///
    /// Empty if the relationship does not name a destination. If the destination is missing, `destination` is only a
    /// placeholder.
    public internal(set) var missingDestination: String?
    /// Whether a save reads the relationship's pairs from this side.
    ///
    /// True if neither the row of a to-one side nor another to-many side determines them. Set by `Model.freeze`.
    package private(set) var ownsJoinRows = false
    public private(set) var deleteRule = DeleteRule.nullify
    public internal(set) var isOrdered = false
    public internal(set) var minimumCount: UInt32 = 0
    /// The maximum number of members: 1 for a to-one relationship, 0 for no limit.
    public internal(set) var maximumCount: UInt32 = 1
    public var isToMany: Bool { maximumCount != 1 }

    init(name: String, destination: Entity, entity: Entity) {
        self.destination = destination
        resolvedDestination = destination
        super.init(name: name, entity: entity)
    }

    /// Makes two relationships inverses of each other; nil removes the inverse.
    ///
    /// A relationship can be its own inverse.
    public func setInverse(_ other: Relationship?) throws {
        try change {
            guard let other else { return clearInverse() }
            guard other.entity.model === entity.model else {
                throw modelError(
                    "\(other.entity.name).\(other.name) belongs to another model and cannot be the inverse of \(entity.name).\(name); pass a relationship of the model of \(entity.name)",
                    entity: entity.name, key: name, value: .string(other.name))
            }
            guard !other.isRemoved else {
                throw modelError(
                    "\(other.entity.name).\(other.name) was removed from its model and cannot be the inverse of "
                        + "\(entity.name).\(name); pass another relationship", entity: entity.name, key: name,
                    value: .string(other.name))
            }
            if let old = inverse, old !== other { old.inverse = nil }
            if let old = other.inverse, old !== self { old.inverse = nil }
            inverse = other
            other.inverse = self
        }
    }

    /// Sets the destination, an entity of the same model.
    ///
    /// An inverse that does not match the new destination is removed.
    public func setDestination(_ newDestination: Entity) throws {
        try change {
            try entity.checkDestination(newDestination, of: name)
            (destination, missingDestination) = (newDestination, nil)
            if let inverse, !canContain(inverse.entity) { clearInverse() }
        }
    }

    /// Makes the relationship to-many without bounds, or to-one and unordered.
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

    /// Sets the minimum and maximum number of members.
    ///
    /// A maximum of 0 removes the limit, and 1 makes the relationship to-one.
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

    func clearInverse() {
        inverse?.inverse = nil
        inverse = nil
    }

    /// Whether both sides are to-one. The model must be frozen.
    package var isOneToOne: Bool { !isToMany && resolvedInverse?.isToMany == false }

    /// Whether objects of an entity or of its subentities can be members of the relationship.
    func canContain(_ other: Entity) -> Bool { other.isKind(of: destination) || destination.isKind(of: other) }

    func resolve() {
        destinationIndex = destination.index
        resolvedDestination = destination
        resolvedInverse = inverse
        ownsJoinRows = inverse.map { $0.isToMany && isToMany && determinesPairs(over: $0) } ?? isToMany
    }

    /// Whether this one of two to-many inverses determines the pairs.
    ///
    /// It is the one whose entity has the lower number, or, within one entity, the one whose name is first.
    private func determinesPairs(over other: Relationship) -> Bool {
        if self === other { return true }
        let (a, b) = (entity.number, other.entity.number)
        return a == b ? name < other.name : a < b
    }

    /// Checks that the destination exists.
    ///
    /// - Throws: `.model` if the destination is only a placeholder.
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
        // Without it, the destination of the inverse is only a placeholder.
        try inverse.requireDestination()
        guard inverse.destination.isKind(of: entity) || entity.isKind(of: inverse.destination) else {
            throw modelError(
                "\(entity.name).\(name) has the inverse \(inverse.entity.name).\(inverse.name), whose destination is "
                    + "\(inverse.destination.name) instead of \(entity.name); set the destination of "
                    + "\(inverse.entity.name).\(inverse.name) to \(entity.name), or set another inverse",
                entity: entity.name, key: name, value: .string(inverse.name))
        }
        guard canContain(inverse.entity) else {
            throw modelError(
                "\(entity.name).\(name) has the destination \(destination.name), but its inverse \"\(inverse.name)\" "
                    + "belongs to \(inverse.entity.name); set the destination to \(inverse.entity.name), or set another inverse",
                entity: entity.name, key: name, value: .string(inverse.name))
        }
    }
}
