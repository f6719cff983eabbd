import CorestoneValues

/// The entities of a store and how they hang together.
///
/// Built by one thread, then frozen by the first coordinator that uses it; from then on immutable, so any thread may read
/// it. The first mistake in construction sticks: later changes throw it again, and so does `freeze`.
public final class Model: @unchecked Sendable {
    /// In order of creation.
    public internal(set) var entities: [Entity] = []
    /// Labels of this version, for people; no meaning at run time.
    public internal(set) var versionIdentifiers: [String] = []
    /// Which version of a bundle it was read from; nil for any other model.
    public var versionName: String? { versionNameText?.string }
    /// The same as C hosts read it: bytes that stay in place.
    package internal(set) var versionNameText: Text?
    /// Requests that the model's author wrote, by name.
    public internal(set) var fetchRequestTemplates: [String: FetchRequestTemplate] = [:]
    /// Named subsets of the entities, in order of creation; the whole model is not among them.
    public internal(set) var configurations: [ModelConfiguration] = []
    var localizationTexts: [String: Text] = [:]
    /// What a source model says beyond all this.
    public internal(set) var extras = SourceExtras()
    var sourceForm = SourceForm()
    public private(set) var isFrozen = false
    /// Whether an entity has checks of the host's. Set by `freeze`.
    package private(set) var hasValidators = false
    /// The kinds of hooks that any entity has. Set by `freeze`.
    package private(set) var hookKinds: UInt32 = 0

    var entitiesByName: [String: Entity] = [:]
    var configurationPlaces: [String: Int] = [:]
    var knownIdentifiers: Set<String> = []
    private var firstError: CoreError?
    /// Of a model that was read as a draft (`init(draftAt:version:)`), what keeps it from being used, and was left out or is shown
    /// as it stands; empty for every other model.
    public internal(set) var draftProblems: [CoreError] = []
    var nextPropertyNumber: UInt32 = 1
    private var propertyCount = 0
    /// What was taken out of the model: whoever still holds it finds it removed, not gone.
    package internal(set) var removedEntities: [Entity] = []
    package internal(set) var removedProperties: [Property] = []
    /// Lets the C boundary withdraw the tokens of the model's entities and properties with the model.
    package var atEnd: ((Model) -> Void)?

    public init() {}

    deinit {
        atEnd?(self)
        // An entity that freed its children, and they theirs, would go as deep into the stack as the tree is high.
        for entity in entities { entity.letGoOfChildren() }
    }

    public func entity(named name: String) -> Entity? { entitiesByName[name] }

    /// The entity of that name, or an error that names the nearest one.
    public func requireEntity(named name: String) throws -> Entity {
        if let entity = entitiesByName[name] { return entity }
        let hint = nearestName(to: name, among: entities.map(\.name)).map { "; did you mean \"\($0)\"?" } ?? ""
        throw CoreError(.invalidArgument, "the model has no entity \"\(name)\"\(hint)", entity: name)
    }

    /// Adds an entity whose name must be an identifier, unique within the model.
    @discardableResult
    public func addEntity(named name: String) throws -> Entity {
        try change {
            guard entities.count < Model.maximumEntities else {
                throw modelError(
                    "cannot add the entity \"\(name)\": the model has \(Model.maximumEntities) entities, which is the limit; split the "
                        + "model", entity: name)
            }
            try checkFreeName(name)
            let entity = Entity(name: name, model: self)
            entities.append(entity)
            entitiesByName[name] = entity
            return entity
        }
    }

    func checkFreeName(_ name: String) throws {
        try checkName(name, of: "an entity", in: nil)
        guard entitiesByName[name] == nil else {
            throw modelError("the model already has an entity \"\(name)\"; choose another name", entity: name)
        }
    }

    public func addVersionIdentifier(_ identifier: String) throws {
        try change { if knownIdentifiers.insert(identifier).inserted { versionIdentifiers.append(identifier) } }
    }

    public func setFetchRequestTemplate(_ template: FetchRequestTemplate?, forName name: String) throws {
        try change {
            try template?.predicate?.requireNoObject(
                "the fetch request template \"\(name)\"", entity: template?.entityName, key: name,
                variable: "a $variable")
            fetchRequestTemplates[name] = template
        }
    }

    /// Makes the entities of these names a configuration, or replaces that of the same name.
    /// - Throws: `.model` for the whole model's own name, "Default", which always stands for every entity.
    public func setConfiguration(_ configuration: ModelConfiguration) throws {
        try change {
            guard configuration.name != ModelConfiguration.defaultName else {
                throw modelError(
                    "\"\(ModelConfiguration.defaultName)\" is the name of the configuration with all entities; "
                        + "choose another name", key: configuration.name)
            }
        }
        try keepConfiguration(configuration)
    }

    /// The same for a model that somebody else wrote, in which any name may stand.
    func keepConfiguration(_ configuration: ModelConfiguration) throws {
        try change {
            if let place = configurationPlaces[configuration.name] {
                configurations[place] = configuration
            } else {
                configurationPlaces[configuration.name] = configurations.count
                configurations.append(configuration)
            }
        }
    }

    public func configuration(named name: String) -> ModelConfiguration? {
        configurationPlaces[name].map { configurations[$0] }
    }

    /// Names and messages for people; see `Localization.swift` for the keys.
    public var localization: [String: String] { localizationTexts.mapValues(\.string) }
    package func localizationText(_ key: String) -> Text? { localizationTexts[key] }

    /// Sets one entry of the localisation; nil removes it.
    public func setLocalization(_ text: String?, forKey key: String) throws {
        try change { localizationTexts[key] = text.map { Text($0) } }
    }

    /// The entities of a configuration; every one for nil. The whole model's own name, "Default", is nil too.
    /// - Throws: `.invalidArgument` when the model has no configuration of that name.
    public func entities(ofConfiguration name: String?) throws -> [Entity] {
        guard let name, name != ModelConfiguration.defaultName else { return entities }
        guard let configuration = configuration(named: name) else {
            let names = configurations.map(\.name)
            let remedy = nearestName(to: name, among: names).map { "did you mean \"\($0)\"?" }
            throw CoreError(
                .invalidArgument,
                "the model has no configuration \"\(name)\"; "
                    + (remedy ?? (names.isEmpty ? "omit it" : "use \(TextPlace.quoted(names))")),
                key: name)
        }
        return configuration.entityNames.compactMap { entity(named: $0) }
    }

    /// The entities whose objects a store of a configuration may have, by index: its own, and all that inherit from them.
    /// nil for the whole model.
    /// - Throws: as `entities(ofConfiguration:)`.
    package func holdings(ofConfiguration name: String?) throws -> Set<UInt32>? {
        guard let name, name != ModelConfiguration.defaultName else { return nil }
        return Set(try entities(ofConfiguration: name).flatMap(\.withDescendants).map(\.index))
    }

    public func setExtras(_ value: SourceExtras) throws { try change { extras = value } }

    /// Checks the whole model and makes it immutable. Does nothing when it is frozen already.
    public func freeze() throws {
        if let problem = draftProblems.first { throw problem }
        if isFrozen { return }
        try settle { try $0() }
    }

    /// Makes a draft immutable with all that its checks object to, which joins its problems: it can be looked at, and not used.
    func settleDraft() throws {
        for entity in entities { try entity.leaveOutRepeated { draftProblems.append($0) } }
        try settle { check in
            do { try check() } catch let problem as CoreError where problem.status == .model {
                // One that was read already says more.
                if draftProblems.contains(where: { $0.entity == problem.entity && $0.key == problem.key }) { return }
                guard draftProblems.count < SourceModelBuilder.maximumProblems else { throw problem }
                draftProblems.append(problem.withoutObjects)
            }
        }
    }

    /// - Parameter attempt: runs a check.
    private func settle(_ attempt: (() throws -> Void) throws -> Void) throws {
        try edit {
            for entity in entities { try attempt { try entity.checkHierarchy() } }
            try checkSize()
            for entity in roots { try entity.layOut(after: []) }
            for entity in roots { entity.settleHooks() }
            for entity in entities {
                try entity.check(attempt)
                try entity.settleValidators()
            }
            hasValidators = entities.contains { !$0.allValidators.isEmpty }
            hookKinds = entities.reduce(0) { $0 | $1.hookKinds }
            for (number, entity) in preorder.enumerated() { entity.number = UInt32(number + 1) }
            for (index, entity) in entities.enumerated() { entity.index = UInt32(index) }
            for entity in entities {
                entity.settleRoot()
                for relationship in entity.ownRelationships { relationship.settle() }
            }
            isFrozen = true
        }
    }

    /// Entities of one model.
    public static let maximumEntities = 250_000
    /// Properties that the entities of one model declare, elements of composites not counted.
    public static let maximumProperties = 250_000

    func countProperty(_ name: String, of entity: Entity) throws {
        propertyCount += 1
        guard propertyCount <= Model.maximumProperties else {
            throw modelError(
                "cannot add \(entity.name).\(name): the model has \(Model.maximumProperties) properties, which is the limit; "
                    + "split the model", entity: entity.name, key: name)
        }
    }

    /// Slots of all entities together, inherited ones counted each time: what a model costs in memory.
    public static let maximumSlots = 4_000_000

    /// Keeps properties that are taken out.
    func bury(_ properties: [Property]) {
        for property in properties { property.wasRemoved = true }
        removedProperties += properties
    }

    func uncountProperties(_ count: Int) { propertyCount -= count }

    private func checkSize() throws {
        var slots = 0
        func visit(_ siblings: [Entity], inherited: Int) {
            for entity in siblings {
                let count = inherited + entity.ownProperties.reduce(0) { $0 + $1.withSlots.count }
                slots += count
                visit(entity.children, inherited: count)
            }
        }
        visit(roots, inherited: 0)
        guard slots <= Model.maximumSlots else {
            throw modelError(
                "the model has \(slots) properties, counting inherited ones and elements, but the limit is "
                    + "\(Model.maximumSlots); move inherited properties to subentities, or split the model"
            )
        }
    }

    /// Entities without a parent, in order of creation.
    public var roots: [Entity] { entities.filter { $0.parent == nil } }

    /// The walk that numbers entities in a store: parents before children, roots and siblings sorted by name without
    /// regard to case (store-format.md 1.1).
    public var preorder: [Entity] {
        var walk: [Entity] = []
        func visit(_ siblings: [Entity]) {
            for entity in Entity.sorted(siblings) {
                walk.append(entity)
                visit(entity.children)
            }
        }
        visit(roots)
        return walk
    }

    /// Lets a refusal that came before the model could look (no such type, text that is no UTF-8) stick like the model's own.
    package func remember(_ mistake: CoreError) {
        if !isFrozen, firstError == nil { firstError = mistake.withoutObjects }
    }

    /// The first mistake, if there was one, keeps the model from being written too, and so does a relationship without destination.
    func requireSound() throws {
        if let error = firstError ?? draftProblems.first { throw error }
        for entity in entities { for relationship in entity.ownRelationships { try relationship.requireDestination() } }
    }

    /// Forgets the first mistake, for who reads a draft and takes note of it.
    func forgetMistake() { firstError = nil }

    /// Runs a change of the model or of anything in it; remembers the first mistake.
    ///
    /// - Parameters:
    ///   - entity: what is changed, for the error of a frozen model; and the key of a property.
    func change<Result>(
        entity: String? = nil, key: @autoclosure () -> String? = nil, _ body: () throws -> Result
    ) throws -> Result {
        if let firstError { throw firstError }
        guard !isFrozen else {
            throw modelError(
                "the model is frozen and cannot be changed; change a copy made by cst_model_copy (copy)",
                entity: entity, key: key())
        }
        do { return try body() } catch {
            firstError = (error as? CoreError)?.withoutObjects
            throw error
        }
    }

    /// The same for what looks before it changes anything: a refusal leaves the model as sound as it was, and is forgotten.
    func edit<Result>(
        entity: String? = nil, key: @autoclosure () -> String? = nil, _ body: () throws -> Result
    ) throws -> Result {
        let former = firstError
        do { return try change(entity: entity, key: key(), body) } catch {
            firstError = former
            throw error
        }
    }
}

/// A named subset of a model's entities: what one store of several holds.
public struct ModelConfiguration: Hashable, Sendable {
    /// How Xcode calls the whole model; no configuration is needed for it.
    public static let defaultName = "Default"

    public let name: String
    public let entityNames: [String]
    public let isUsedWithCloudKit: Bool

    public init(name: String, entityNames: [String], isUsedWithCloudKit: Bool = false) {
        self.name = name
        self.entityNames = entityNames
        self.isUsedWithCloudKit = isUsedWithCloudKit
    }
}

func modelError(
    _ message: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil
) -> CoreError {
    CoreError(.model, code: .coreData, message, entity: entity, key: key, value: value)
}

/// Names become parts of SQL identifiers and of predicates, hence identifiers only.
package func isIdentifier(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255
        && name.unicodeScalars.enumerated().allSatisfy { position, scalar in
            scalar == "_" || scalar.properties.isAlphabetic || position > 0 && scalar.properties.numericType != nil
        }
}

func checkName(_ name: String, of what: String, in entity: String?) throws {
    guard isIdentifier(name) else {
        throw modelError(
            nameFault(name, of: entity.map { "\(what) of \($0)" } ?? what), entity: entity ?? name,
            key: name)
    }
}

private func nameFault(_ name: String, of what: String) -> String {
    if name.isEmpty { return "the name of \(what) must not be empty" }
    if name.utf8.count > 255 {
        return "the name of \(what) has \(name.utf8.count) bytes, but the limit is 255: \"\(name.prefix(60))…\""
    }
    return "\"\(name)\" is not a valid name for \(what); use letters, digits and underscores, without a leading digit"
}
