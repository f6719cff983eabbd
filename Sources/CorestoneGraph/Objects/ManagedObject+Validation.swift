import CorestoneModel
import CorestoneValues

extension ManagedObject {
    /// Checks the object as a save would that inserts, updates or deletes it.
    /// - Parameter asksHook: false leaves out the entity's own hook (`LifecycleHooks.validate`), for who is just that.
    /// - Throws: the failure, or several as the children of one error with code 1560.
    public func validate(for purpose: ValidationPurpose, asksHook: Bool = true) throws {
        try context?.checkQueue()
        try fireIfNeeded()
        var failures = ValidationFailures()
        try runValidators(purpose, asksHook: asksHook, into: &failures)
        try validateByModel(purpose, into: &failures)
        try failures.check()
    }

    /// By the conditions of the model, without the host's validators.
    func validateByModel(_ purpose: ValidationPurpose, into failures: inout ValidationFailures) throws {
        if purpose == .delete {
            try validateDenials(into: &failures)
        } else {
            try validateProperties(as: purpose, into: &failures)
        }
    }

    public func validateForInsert() throws { try validate(for: .insert) }
    public func validateForUpdate() throws { try validate(for: .update) }
    public func validateForDelete() throws { try validate(for: .delete) }

    /// Checks a value as a save would check it if the property had it; the object does not change.
    /// - Returns: the value as the property would hold it: an integer for a double attribute becomes a double, and so on. What
    ///   the host's validators put in its place counts.
    /// - Throws: the failure, or several as the children of one error with code 1560.
    public func validateValue(_ value: PropertyValue, forKey name: String) throws -> PropertyValue {
        try context?.checkQueue()
        let property = try entity.requireProperty(named: name)
        var failures = ValidationFailures()
        let value = validated(value, property, into: &failures)
        let accepted: PropertyValue
        if let attribute = property as? Attribute {
            accepted = try attribute.accept(value, for: entity)
            if accepted.isNull {
                if !attribute.isOptional { failures.append(missing(attribute)) }
            } else {
                validateNew(accepted, attribute, into: &failures)
            }
        } else {
            let relationship = unsafeDowncast(property, to: Relationship.self)
            accepted = value
            try validate(members: members(value, relationship), relationship, into: &failures)
            if !value.isNull { validateRules(value, relationship, into: &failures) }
        }
        try failures.check()
        return accepted
    }

    private func members(_ value: PropertyValue, _ relationship: Relationship) throws -> Int {
        switch value {
        case .null: return 0
        case .array(let members) where relationship.isToMany:
            return Set(try members.compactMap { try acceptTarget($0, relationship).map(ObjectIdentifier.init) }).count
        case .set(let members) where relationship.isToMany:
            for member in members { _ = try acceptTarget(member, relationship) }
            return members.count
        default:
            if relationship.isToMany { throw unsuitableMembers(value, relationship) }
            return try acceptTarget(value, relationship) == nil ? 0 : 1
        }
    }
}

// MARK: - Walking the properties

extension ManagedObject {
    /// Checks every property (as `validateForUpdate` of Core Data does, not the changed ones alone: the model may have become
    /// stricter than the row). To-many relationships that nobody touched are left alone, since each would cost a query.
    func validateProperties(as purpose: ValidationPurpose, into failures: inout ValidationFailures) throws {
        let isNew = purpose == .insert
        let (slots, overlay) = (entity.layout.slots, overlay)
        for slot in 0..<Int(entity.slotCount) {
            let layout = slots[slot]
            let isChanged = overlay?.isChanged(slot) == true
            switch layout.role {
            case .attribute, .external, .transient:
                if !isChanged {
                    if layout.conditions.isDisjoint(with: [.required, .ruled]) { continue }
                    try validateUnchanged(slot, layout, isNew: isNew, into: &failures)
                } else if let overlay, !overlay[slot].isNull {
                    // Most values have nothing that could be wrong with them, and are not even copied for this.
                    if layout.isPlainlyFit(overlay[slot]) { continue }
                    validateNew(overlay[slot], entity.attribute(slot), into: &failures)
                } else if layout.conditions.contains(.required), try isAsked(entity.attribute(slot)) {
                    failures.append(missing(entity.attribute(slot)))
                }
            case .composite:
                if layout.conditions.isDisjoint(with: [.required, .ruled]) { continue }
                try validateComposite(slot, layout, into: &failures)
            case .toOne:
                if layout.conditions.isDisjoint(with: [.required, .ruled]) { continue }
                // A ghost is not saved, so nothing is asked of it.
                guard
                    try unlessGhost({
                        try validateToOne(slot, layout, isChanged: isNew || isChanged, into: &failures)
                    }) != nil
                else { return }
            case .toMany:
                if layout.conditions.isDisjoint(with: [.bounded, .ruled]) { continue }
                guard isNew || toMany(ordinal: Int(layout.ordinal))?.hasChanges == true else { continue }
                if try isGhost() { return }
                let relationship = entity.relationship(slot)
                try validate(members: try memberCount(relationship), relationship, into: &failures)
                if layout.conditions.contains(.ruled) {
                    validateRules(try value(slot: slot), relationship, into: &failures)
                }
            }
        }
    }

    /// Those that the save writes: lists without inverse may have members that are deleted.
    private func memberCount(_ relationship: Relationship) throws -> Int {
        let members = try toMany(relationship)
        if !relationship.isTakenBackByNoRule { return try members.count() }
        return try members.all().count { $0.state.isDisjoint(with: [.gone, .deleted]) }
    }

    private func validateUnchanged(
        _ slot: Int, _ layout: SlotLayout, isNew: Bool, into failures: inout ValidationFailures
    ) throws {
        // What a transient attribute held went with the fault, and a row that was not needed is not read for this.
        if !isNew && (layout.role == .transient || record == nil) { return }
        // A value in a file is there, and was checked when it was written: it is not read for this either.
        if let record, Record(record).fileName(slot, layout) != nil { return }
        guard let record, Record(record).hasValue(slot) else {
            // A derived attribute that came to nothing is no fault of the object's, and nothing could be done about it.
            let mayBeMissing =
                layout.conditions.isDisjoint(with: .required) || !isNew && layout.conditions.contains(.derived)
            if !mayBeMissing, try isAsked(entity.attribute(slot)) { failures.append(missing(entity.attribute(slot))) }
            return
        }
        if layout.conditions.contains(.ruled) {
            validateRules(try value(slot: slot), entity.attribute(slot), into: &failures)
        }
    }

    /// The composite as a whole; its elements are validated for themselves.
    private func validateComposite(_ slot: Int, _ layout: SlotLayout, into failures: inout ValidationFailures) throws {
        let attribute = entity.attribute(slot)
        let value = try compositeValue(slot)
        if !value.isNull {
            validateRules(value, attribute, into: &failures)
        } else if layout.conditions.contains(.required), try isAsked(attribute) {
            failures.append(missing(attribute))
        }
    }

    private func validateToOne(
        _ slot: Int, _ layout: SlotLayout, isChanged: Bool, into failures: inout ValidationFailures
    ) throws {
        let relationship = entity.relationship(slot)
        if !isChanged && !layout.conditions.contains(.ruled) {
            if let record, Record(record).target(slot, layout) == nil { failures.append(missing(relationship)) }
        } else if let target = try target(of: relationship), target.state.isDisjoint(with: [.gone, .deleted]) {
            // A save writes nil for a target that is deleted.
            if layout.conditions.contains(.ruled) { validateRules(.object(target), relationship, into: &failures) }
        } else if layout.conditions.contains(.required) {
            failures.append(missing(relationship))
        }
    }

    /// Deny: an object whose relationship still leads to objects that stay may not be deleted.
    func validateDenials(into failures: inout ValidationFailures) throws {
        guard let context else { return }
        for relationship in entity.relationships where relationship.deleteRule == .deny {
            let staying = try context.targets(of: relationship, self).filter { !$0.isDeleted }
            if staying.isEmpty { continue }
            let ghosts = try context.loadRows(of: staying).count
            if ghosts < staying.count { failures.append(denied(relationship, staying.count - ghosts)) }
        }
    }
}

// MARK: - One value

extension ManagedObject {
    /// What no value of the type may be, whatever the model's author said, and then what the author said.
    private func validateNew(_ value: PropertyValue, _ attribute: Attribute, into failures: inout ValidationFailures) {
        switch value {
        case .double(let number) where !number.isFinite && !attribute.allowsNaN:
            failures.append(notFinite(number, attribute))
        case .date(let seconds) where !seconds.isFinite: failures.append(noDate(seconds, attribute))
        case .uri(let text) where !isURIReference(text.utf8): failures.append(noURI(value, attribute))
        case .dictionary(let entries):
            for element in attribute.elements {
                if let part = entries[element.name] {
                    validateNew(part, element, into: &failures)
                } else if !element.isOptional {
                    failures.append(missing(element))
                }
            }
            validateRules(value, attribute, into: &failures)
        default: validateRules(value, attribute, into: &failures)
        }
    }

    private func validateRules(_ value: PropertyValue, _ property: Property, into failures: inout ValidationFailures) {
        for rule in property.validationRules {
            do {
                if try !rule.predicate.required().evaluate(with: value) {
                    failures.append(broken(rule, value, property))
                }
            } catch {
                let reason = (error as? CoreError)?.message ?? "\(error)"
                failures.append(unanswered(rule, reason, value, property))
            }
        }
    }

    private func validate(
        members count: Int, _ relationship: Relationship, into failures: inout ValidationFailures
    ) throws {
        // An empty optional relationship is not held to its bounds (NSRelationshipDescription).
        if count == 0 && relationship.isOptional { return }
        if count == 0 && (relationship.minimumCount == 0 || !relationship.isToMany) {
            return failures.append(missing(relationship))
        }
        let (minimum, maximum) = (Int(relationship.minimumCount), Int(relationship.maximumCount))
        if count < minimum {
            failures.append(
                wrongCount(relationship, .validationRelationshipLacksMinimumCount, count, "at least \(minimum)"))
        } else if maximum > 0 && count > maximum {
            failures.append(
                wrongCount(relationship, .validationRelationshipExceedsMaximumCount, count, "at most \(maximum)"))
        }
    }
}

extension SlotLayout {
    /// Whether a value that is not null may be saved, as far as one look tells.
    @inline(__always)
    fileprivate func isPlainlyFit(_ value: PropertyValue) -> Bool {
        if conditions.contains(.ruled) { return false }
        switch value {
        case .double(let number), .date(let number): return number.isFinite
        case .uri: return false
        default: return true
        }
    }
}
