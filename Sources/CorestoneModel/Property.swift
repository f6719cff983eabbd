import CorestoneValues
import Synchronization

/// What attributes, relationships and fetched properties share.
public class Property: @unchecked Sendable {
    public let name: String
    /// The entity that declares it.
    public unowned let entity: Entity
    public internal(set) var isOptional = true
    public internal(set) var isTransient = false
    /// The name and the user info as C hosts read them: bytes that stay in place.
    package let nameText: Text
    private var userInfoTexts: [String: Text] = [:]
    /// Free data of the model's author.
    public var userInfo: [String: String] { userInfoTexts.mapValues(\.string) }
    package func userInfoText(_ key: String) -> Text? { userInfoTexts[key] }
    public private(set) var versionHashModifier: String?
    /// The name in the models of older versions, when it was another one.
    public private(set) var renamingIdentifier: String?
    /// Conditions of the model's author on a value that is there.
    public private(set) var validationRules: [ValidationRule] = []
    /// Spotlight finds objects by the value.
    public private(set) var isIndexedBySpotlight = false
    /// The value is also written into external records.
    public private(set) var isStoredInExternalRecord = false
    /// What a source model says beyond all this.
    public private(set) var extras = SourceExtras()
    /// The slot within the declaring entity and all that inherit from it. Set by `Model.freeze`.
    public internal(set) var slot: UInt32 = 0
    /// The slot and a number that is unique within the model. Set by `Model.freeze`.
    public internal(set) var key: UInt32 = 0
    /// The token by which C hosts know the property; 0 when none was asked for.
    package var token: UInt = 0
    /// The order of creation within the process.
    let ordinal: Int

    private static let created = Atomic<Int>(0)

    init(name: String, entity: Entity) {
        self.name = name
        nameText = Text(name)
        self.entity = entity
        ordinal = Property.created.add(1, ordering: .relaxed).newValue
    }

    public func setUserInfo(_ value: String?, forKey key: String) throws {
        try entity.model.change { userInfoTexts[key] = value.map { Text($0) } }
    }
    public func setVersionHashModifier(_ value: String?) throws {
        try entity.model.change { versionHashModifier = value }
    }
    public func setRenamingIdentifier(_ value: String?) throws {
        try entity.model.change { renamingIdentifier = value }
    }
    public func setValidationRules(_ rules: [ValidationRule]) throws {
        try entity.model.change { validationRules = rules }
    }
    /// Adds a condition; a value that does not meet it fails with these words.
    public func addValidation(_ predicate: PredicateText, warning: String) throws {
        try entity.model.change { validationRules.append(ValidationRule(predicate, warning: .text(warning))) }
    }
    func replaceRules(of codes: [CocoaCode], by rules: [ValidationRule]) {
        let former = codes.map { ValidationRule.Warning.code(Int64($0.rawValue)) }
        validationRules.removeAll { former.contains($0.warning) }
        validationRules += rules
    }
    public func setIndexedBySpotlight(_ value: Bool) throws {
        try entity.model.change { isIndexedBySpotlight = value }
    }
    public func setStoredInExternalRecord(_ value: Bool) throws {
        try entity.model.change { isStoredInExternalRecord = value }
    }
    public func setExtras(_ value: SourceExtras) throws { try entity.model.change { extras = value } }
    public func setOptional(_ value: Bool) throws { try entity.model.change { isOptional = value } }
    public func setTransient(_ value: Bool) throws { try entity.model.change { isTransient = value } }
}
