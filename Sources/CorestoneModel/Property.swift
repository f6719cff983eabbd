import CorestoneValues
import Synchronization

/// The base class of attributes, relationships and fetched properties.
public class Property: @unchecked Sendable {
    public internal(set) var name: String {
        didSet {
            nameText = Text(name)
            updatePath()
        }
    }
    /// The key path from the object: the name, or `location.latitude` for an element of a composite attribute.
    public internal(set) var path: String
    /// The entity that declares the property.
    public unowned let entity: Entity
    public internal(set) var isOptional = true
    public internal(set) var isTransient = false
    /// The name as bytes with a stable address, for the C interface. The user info is stored in the same way.
    package private(set) var nameText: Text
    private var userInfoTexts: [String: Text] = [:]
    /// The user info of the model's author.
    public var userInfo: [String: String] { userInfoTexts.mapValues(\.string) }
    package func userInfoText(_ key: String) -> Text? { userInfoTexts[key] }
    public private(set) var versionHashModifier: String?
    /// The name in older versions of the model, if it was different.
    public private(set) var renamingIdentifier: String?
    /// The validation rules of the model's author, for values that are not nil.
    public internal(set) var validationRules: [ValidationRule] = []
    /// Whether Spotlight indexes the value.
    public private(set) var isIndexedBySpotlight = false
    /// Whether the value is written into external records too.
    public private(set) var isStoredInExternalRecord = false
    /// The content of a source model that no other field represents.
    public private(set) var extras = SourceExtras()
    var sourceForm = SourceForm()
    /// The slot in the declaring entity and its subentities. Set by `Model.freeze`.
    public internal(set) var slot: UInt32 = 0
    /// The slot, combined with a number that is unique within the model. Set by `Model.freeze`.
    public internal(set) var key: UInt32 = 0
    /// The token of the property's handle in the C interface; 0 if it was never requested.
    package var hostSlot: UInt = 0
    /// Whether the property, or the part of the model that contains it, was removed.
    ///
    /// The model keeps removed parts for existing references.
    public var isRemoved: Bool { wasRemoved || entity.isRemoved }
    var wasRemoved = false
    /// The accessor functions for the C interface (`cst_entity_accessor`), which are freed with the property.
    package var accessors: AnyObject?
    /// The number of the property in the order of creation within the process.
    let ordinal: Int

    private static let created = Atomic<Int>(0)

    init(name: String, entity: Entity) {
        self.name = name
        path = name
        nameText = Text(name)
        self.entity = entity
        ordinal = Property.created.add(1, ordering: .relaxed).newValue
    }

    /// Updates the path after a change of the name.
    func updatePath() { path = name }

    /// Runs a change that validates before it modifies anything; see `Model.edit`.
    func edit<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isRemoved else { return try change(body) }
        return try entity.model.edit(entity: entity.name, key: path, body)
    }

    func change<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isRemoved else {
            throw modelError(
                "cannot change \(entity.name).\(path): \(removedPart) was removed from its model; add a new "
                    + (entity.isRemoved ? "entity" : "property"), entity: entity.name, key: path)
        }
        return try entity.model.change(entity: entity.name, key: path, body)
    }

    /// Throws if the property was already removed from its model.
    func requireUnremoved() throws {
        guard isRemoved else { return }
        throw modelError(
            "cannot remove \(entity.name).\(path): \(removedPart) was already removed from its model",
            entity: entity.name, key: path)
    }

    private var removedPart: String { entity.isRemoved ? entity.name : "it" }

    public func setUserInfo(_ value: String?, forKey key: String) throws {
        try change { userInfoTexts[key] = value.map { Text($0) } }
    }
    public func setVersionHashModifier(_ value: String?) throws {
        try change { versionHashModifier = value }
    }
    public func setRenamingIdentifier(_ value: String?) throws {
        try change { renamingIdentifier = value }
    }
    /// Replaces the validation rules.
    public func setValidationRules(_ rules: [ValidationRule]) throws {
        try change {
            for rule in rules { try require(rule.predicate) }
            validationRules = rules
        }
    }
    /// Adds a validation rule. `warning` is the message of its failure.
    public func addValidation(_ predicate: PredicateText, warning: String) throws {
        try change {
            try require(predicate)
            validationRules.append(ValidationRule(predicate, warning: .text(warning)))
        }
    }
    private func require(_ predicate: PredicateText) throws {
        try predicate.requireNoObject(
            "a validation predicate of \(entity.name).\(path)", entity: entity.name, key: path)
    }
    func replaceRules(of codes: [CocoaCode], by rules: [ValidationRule]) {
        let former = codes.map { ValidationRule.Warning.code(Int64($0.rawValue)) }
        validationRules.removeAll { former.contains($0.warning) }
        validationRules += rules
    }
    public func setIndexedBySpotlight(_ value: Bool) throws {
        try change { isIndexedBySpotlight = value }
    }
    public func setStoredInExternalRecord(_ value: Bool) throws {
        try change { isStoredInExternalRecord = value }
    }
    public func setExtras(_ value: SourceExtras) throws { try change { extras = value } }
    public func setOptional(_ value: Bool) throws { try change { isOptional = value } }
    public func setTransient(_ value: Bool) throws { try change { isTransient = value } }
}
