import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// Creation of validation errors, with entity, key, value, predicate and object.
extension ManagedObject {
    private func invalid(
        _ property: Property, _ code: CocoaCode, _ message: String, value: PropertyValue? = nil,
        predicate: String? = nil
    ) -> CoreError {
        CoreError(
            .validation, code: code, message, entity: entity.name, key: property.path, value: value,
            predicate: predicate, objectURI: objectID.uri)
    }

    /// Returns the entity and the property for messages, with their localised names if the model contains them.
    private func displayName(_ property: Property) -> String {
        let name = property.localizedName(in: entity)
        return "\(entity.localizedName).\(name == property.name ? property.path : name)"
    }

    func missingValueError(_ property: Property) -> CoreError {
        let fault =
            if let relationship = property as? Relationship, relationship.isToMany {
                "and does not have members; add one before saving"
            } else if (property as? Attribute)?.derivation == nil {
                "and cannot be null; set it before saving"
            } else {
                "and does not have a value; make it optional or set a default value in the model, because it is "
                    + "computed at each save"
            }
        return invalid(
            property, .validationMissingMandatoryProperty, "\(displayName(property)) is required \(fault)")
    }

    /// Creates the error for a required to-one relationship to a deleted object, for which a save would write null.
    func deletedTargetError(_ relationship: Relationship, _ target: ManagedObject) -> CoreError {
        invalid(
            relationship, .validationMissingMandatoryProperty,
            "\(displayName(relationship)) is required, but refers to \(target.entity.localizedName) "
                + "\(target.objectID.uri), which is deleted; set another object before saving")
    }

    func memberCountError(_ relationship: Relationship, _ code: CocoaCode, _ count: Int, _ bound: String) -> CoreError {
        invalid(
            relationship, code,
            "\(displayName(relationship)) has \(count) member\(count == 1 ? "" : "s"), but must have \(bound)",
            value: .int(Int64(count)))
    }

    func deniedDeleteError(_ relationship: Relationship, _ count: Int) -> CoreError {
        invalid(
            relationship, .validationRelationshipDeniedDelete,
            "\(entity.localizedName) \(objectID.uri) cannot be deleted while \(displayName(relationship)) has "
                + (count == 1
                    ? "1 object; delete that object with cst_context_delete (delete), or clear the relationship, first"
                    : "\(count) objects; delete those objects with cst_context_delete (delete), or clear the "
                        + "relationship, first"),
            value: .int(Int64(count)))
    }

    /// Creates the error for an object with the same values of a unique constraint as another unsaved object, `owner`.
    func uniquenessError(_ keys: [String], _ values: [PropertyValue], _ owner: ManagedObject) -> CoreError {
        let pairs = zip(keys, values).map { "\(entity.localizedName).\($0) is \($1.excerpt)" }.joined(
            separator: " and ")
        return CoreError(
            .validation, code: .managedObjectConstraintValidation,
            "\(pairs) in \(objectID.uri) and in \(owner.objectID.uri), but "
                + "\(keys.count == 1 ? "" : "their combination ")must be unique; change one of the values",
            entity: entity.name, key: keys[0], value: values[0], objectURI: objectID.uri)
    }

    func notFiniteError(_ number: Double, _ attribute: Attribute) -> CoreError {
        invalid(
            attribute, .managedObjectValidation,
            "\(displayName(attribute)) is \(number), which some stores cannot keep; set a finite value, or "
                + "allow NaN and infinities for the attribute (CST_PROPERTY_ALLOWS_NAN, allows_nan, setAllowsNaN)",
            value: .double(number))
    }

    func invalidDateError(_ seconds: Double, _ attribute: Attribute) -> CoreError {
        invalid(
            attribute, .validationInvalidDate,
            "\(displayName(attribute)) is \(seconds) seconds, but a date must be finite",
            value: .date(seconds))
    }

    func invalidURIError(_ value: PropertyValue, _ attribute: Attribute) -> CoreError {
        invalid(
            attribute, .validationInvalidURI,
            "\(displayName(attribute)) is \(value.excerpt), which is not a URI; percent-encode characters that a URI "
                + "cannot contain, and a literal % as %25",
            value: value)
    }

    /// Creates the error for a value that does not satisfy a validation rule.
    ///
    /// If the rule has its own message, the error has this message.
    func brokenRuleError(_ rule: ValidationRule, _ value: PropertyValue, _ property: Property) -> CoreError {
        switch rule.warning {
        case .text(let warning):
            return invalid(
                property, .managedObjectValidation, entity.model.localizedError(warning), value: value,
                predicate: rule.predicate.text)
        case .code(let number):
            let code = CocoaCode(rawValue: Int(number))
            return CoreError(
                .validation,
                "\(displayName(property)) is \(value.excerpt), \(reason(code, value)); set a value that satisfies "
                    + "\"\(rule.predicate.text)\"",
                customCode: Int(number), entity: entity.name, key: property.path, value: value,
                predicate: rule.predicate.text, objectURI: objectID.uri)
        }
    }

    private func reason(_ code: CocoaCode?, _ value: PropertyValue) -> String {
        if case .double(let number) = value, number.isNaN { return "which is not a number" }
        return switch code {
        case .validationNumberTooSmall: "which is too small"
        case .validationNumberTooLarge: "which is too large"
        case .validationDateTooSoon: "which is too soon"
        case .validationDateTooLate: "which is too late"
        case .validationStringTooShort: "which is too short"
        case .validationStringTooLong: "which is too long"
        case .validationStringPatternMatching: "which does not match its pattern"
        default: "which does not satisfy the model's predicate"
        }
    }

    /// Converts the error of an application's validator to a validation error.
    ///
    /// The validation error names the property and its value, or the object if `property` is nil. Fields that the
    /// validator set are kept.
    func validatorError(
        _ error: any Error, _ property: Property? = nil, _ value: PropertyValue? = nil,
        purpose: ValidationPurpose? = nil
    ) -> CoreError {
        let own = error as? CoreError
        let code = own.flatMap { $0.code == 0 ? nil : $0.code }
        let shownValue = value.map { " is \($0.excerpt), which" } ?? ""
        let subject = property.map { displayName($0) + shownValue } ?? "\(entity.localizedName) \(objectID.uri)"
        let failure =
            purpose == .delete ? "cannot be deleted: a validator rejected the deletion" : "was rejected by a validator"
        let ownMessage = own?.message ?? "\(subject) \(failure): \(error)"
        return CoreError(
            .validation, ownMessage.isEmpty ? "\(subject) \(failure)" : ownMessage,
            domain: code == nil ? CoreError.cocoaDomain : own?.domain ?? CoreError.cocoaDomain,
            customCode: code ?? CocoaCode.managedObjectValidation.rawValue, entity: own?.entity ?? entity.name,
            key: own?.key ?? property?.path, value: own?.value ?? value, predicate: own?.predicate,
            objectURI: own?.objectURI ?? objectID.uri, children: own?.children ?? [], payload: own?.payload,
            isHosts: own != nil)
    }

    /// Creates the error for a rule that cannot be evaluated.
    ///
    /// The value then counts as invalid, so that no unchecked value is saved.
    func uncheckedRuleError(_ rule: ValidationRule, _ reason: String, _ value: PropertyValue, _ property: Property)
        -> CoreError
    {
        // A validation does not have values for variables, so the remedy of their error does not apply.
        let variable = (try? rule.predicate.required())?.freeVariables.first
        let cause =
            variable.map { "$\($0) does not have a value; remove the variable from the predicate in the model" }
            ?? reason
        return invalid(
            property, .managedObjectValidation,
            "cannot check \(displayName(property)) against the model's predicate \"\(rule.predicate.text)\": \(cause)"
                + (cause.hasRemedy ? "" : "; change the value, or the predicate in the model"),
            value: value, predicate: rule.predicate.text)
    }
}

extension CoreError {
    /// Returns a copy of an error of application code, with the object's entity and URI.
    func naming(_ object: ManagedObject) -> CoreError {
        CoreError(
            status, message, domain: domain, customCode: code, entity: object.entity.name, key: key, value: value,
            predicate: predicate, objectURI: object.objectID.uri, children: children, sqliteCode: sqliteCode,
            file: file, offset: offset, payload: payload, isHosts: true)
    }
}
