import CorestoneValues

/// The schema of an object graph: entities, their properties and relationships.
///
/// A model is built by one thread and frozen by the first coordinator that uses it. A frozen model is immutable, except
/// for the user info of fetched properties, and any thread may read it. The first error during construction is kept:
/// later changes throw it again, and so does `freeze`.
public final class Model: @unchecked Sendable {
    /// The entities in order of creation.
    public internal(set) var entities: [Entity] = []
    /// The labels of this version, for people. They do not have a meaning at run time.
    public internal(set) var versionIdentifiers: [String] = []
    /// The version of the bundle from which the model was read; nil for other models.
    public var versionName: String? { versionNameText?.string }
    /// The `versionName` as bytes with a stable address, for the C interface.
    package internal(set) var versionNameText: Text?
    /// The fetch request templates of the model's author, by name.
    public internal(set) var fetchRequestTemplates: [String: FetchRequestTemplate] = [:]
    /// The named subsets of the entities, in order of creation, without the default configuration.
    public internal(set) var configurations: [ModelConfiguration] = []
    var localizationTexts: [String: Text] = [:]
    /// The content of a source model that no other field represents.
    public internal(set) var extras = SourceExtras()
    var sourceForm = SourceForm()
    public private(set) var isFrozen = false
    /// Whether an entity has validators of the application. Set by `freeze`.
    package private(set) var hasValidators = false
    /// The kinds of hooks of all entities. Set by `freeze`.
    package private(set) var hookKinds: UInt32 = 0

    var entitiesByName: [String: Entity] = [:]
    var configurationPlaces: [String: Int] = [:]
    var knownIdentifiers: Set<String> = []
    private var firstError: CoreError?
    /// The problems of a draft (`init(draftAt:version:)`), which prevent its use.
    ///
    /// Empty for other models.
    public internal(set) var draftProblems: [CoreError] = []
    var nextPropertyNumber: UInt32 = 1
    private var propertyCount = 0
    /// The entities that were removed from the model.
    ///
    /// They are kept so that existing references see them as removed.
    package internal(set) var removedEntities: [Entity] = []
    package internal(set) var removedProperties: [Property] = []
    /// A callback for the deallocation of the model.
    ///
    /// The C boundary uses it to invalidate the tokens of the model's entities and properties.
    package var atEnd: ((Model) -> Void)?

    public init() {}

    deinit {
        atEnd?(self)
        // Releasing children recursively would use stack space in proportion to the depth of the tree.
        for entity in entities { entity.releaseChildren() }
    }

    public func entity(named name: String) -> Entity? { entitiesByName[name] }

    /// Returns an entity by name. The error suggests the most similar name.
    public func requireEntity(named name: String) throws -> Entity {
        if let entity = entitiesByName[name] { return entity }
        let hint = nearestName(to: name, among: entities.map(\.name)).map { "; did you mean \"\($0)\"?" } ?? ""
        throw CoreError(.invalidArgument, "the model has no entity \"\(name)\"\(hint)", entity: name)
    }

    /// Adds an entity. Its name must be an identifier and unique within the model.
    @discardableResult
    public func addEntity(named name: String) throws -> Entity {
        try change(entity: name) {
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

    /// Adds a version identifier, unless it already exists.
    public func addVersionIdentifier(_ identifier: String) throws {
        try change { if knownIdentifiers.insert(identifier).inserted { versionIdentifiers.append(identifier) } }
    }

    /// Sets or replaces a fetch request template; nil removes it.
    public func setFetchRequestTemplate(_ template: FetchRequestTemplate?, forName name: String) throws {
        try change(entity: template?.entityName, key: name) {
            try template?.predicate?.requireNoObject(
                "the fetch request template \"\(name)\"", entity: template?.entityName, key: name,
                variable: "a $variable")
            fetchRequestTemplates[name] = template
        }
    }

    /// Adds a configuration, or replaces the one of the same name.
    ///
    /// - Throws: `.model` for the name "Default", which always denotes all entities.
    public func setConfiguration(_ configuration: ModelConfiguration) throws {
        try change(key: configuration.name) {
            guard configuration.name != ModelConfiguration.defaultName else {
                throw modelError(
                    "\"\(ModelConfiguration.defaultName)\" is the name of the configuration with all entities; "
                        + "choose another name", key: configuration.name)
            }
        }
        try upsertConfiguration(configuration)
    }

    /// Adds a configuration of a model from a file, in which any name may occur.
    func upsertConfiguration(_ configuration: ModelConfiguration) throws {
        try change(key: configuration.name) {
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

    /// The localised names and messages; see `Localization.swift` for the keys.
    public var localization: [String: String] { localizationTexts.mapValues(\.string) }
    package func localizationText(_ key: String) -> Text? { localizationTexts[key] }

    /// Sets one entry of the localisation; nil removes it.
    public func setLocalization(_ text: String?, forKey key: String) throws {
        try change(key: key) { localizationTexts[key] = text.map { Text($0) } }
    }

    /// Returns the entities of a configuration; all entities for nil and for the name "Default".
    ///
    /// - Throws: `.invalidArgument` if the model does not have the configuration.
    public func entities(ofConfiguration name: String?) throws -> [Entity] {
        guard let name, name != ModelConfiguration.defaultName else { return entities }
        guard let configuration = configuration(named: name) else {
            let names = configurations.map(\.name)
            let remedy = nearestName(to: name, among: names).map { "did you mean \"\($0)\"?" }
            throw CoreError(
                .invalidArgument,
                "the model has no configuration \"\(name)\"; "
                    + (remedy ?? (names.isEmpty ? "omit the configuration" : "use \(TextPlace.quoted(names))")),
                key: name)
        }
        return configuration.entityNames.compactMap { entity(named: $0) }
    }

    /// Returns the indexes of the entities whose objects a store of a configuration can contain.
    ///
    /// These are the entities of the configuration and their subentities. Returns nil for the whole model.
    ///
    /// - Throws: as `entities(ofConfiguration:)`.
    package func holdings(ofConfiguration name: String?) throws -> Set<UInt32>? {
        guard let name, name != ModelConfiguration.defaultName else { return nil }
        return Set(try entities(ofConfiguration: name).flatMap(\.withDescendants).map(\.index))
    }

    public func setExtras(_ value: SourceExtras) throws { try change { extras = value } }

    /// Checks the whole model and makes it immutable. Idempotent.
    public func freeze() throws {
        if let problem = draftProblems.first { throw problem }
        if isFrozen { return }
        try checkAndFreeze { try $0() }
    }

    /// Freezes a draft.
    ///
    /// Failed checks become draft problems, so that the model can be inspected but not used.
    func freezeDraft() throws {
        for entity in entities { try entity.removeRepeatedProperties { draftProblems.append($0) } }
        try checkAndFreeze { check in
            do { try check() } catch let problem as CoreError where problem.status == .model {
                // The problem from reading the same part is more specific.
                if draftProblems.contains(where: { $0.entity == problem.entity && $0.key == problem.key }) { return }
                guard draftProblems.count < SourceModelBuilder.maximumProblems else { throw problem }
                draftProblems.append(problem.withoutObjects)
            }
        }
    }

    /// Checks the model and computes its derived structures.
    ///
    /// - Parameter attempt: runs a check.
    private func checkAndFreeze(_ attempt: (() throws -> Void) throws -> Void) throws {
        try edit {
            for entity in entities { try attempt { try entity.checkHierarchy() } }
            try checkSize()
            for entity in roots { try entity.layOut(after: []) }
            for entity in roots { entity.resolveHooks() }
            for entity in entities {
                try entity.check(attempt)
                try entity.resolveValidators()
            }
            hasValidators = entities.contains { !$0.allValidators.isEmpty }
            hookKinds = entities.reduce(0) { $0 | $1.hookKinds }
            for (number, entity) in preorder.enumerated() { entity.number = UInt32(number + 1) }
            for (index, entity) in entities.enumerated() { entity.index = UInt32(index) }
            for entity in entities {
                entity.resolveRoot()
                for relationship in entity.ownRelationships { relationship.resolve() }
            }
            for entity in entities {
                entity.hasOneToOne = entity.properties.contains { ($0 as? Relationship)?.isOneToOne == true }
            }
            isFrozen = true
        }
    }

    /// The maximum number of entities of one model.
    public static let maximumEntities = 250_000
    /// The maximum number of properties that the entities of one model declare.
    ///
    /// Elements of composite attributes do not count.
    public static let maximumProperties = 250_000

    func countProperty(_ name: String, of entity: Entity) throws {
        propertyCount += 1
        guard propertyCount <= Model.maximumProperties else {
            throw modelError(
                "cannot add \(entity.name).\(name): the model has \(Model.maximumProperties) properties, which is the limit; "
                    + "split the model", entity: entity.name, key: name)
        }
    }

    /// The maximum number of slots of all entities together, counting inherited ones each time.
    ///
    /// It bounds the memory of a model.
    public static let maximumSlots = 4_000_000

    /// Keeps removed properties for existing references.
    func registerRemoved(_ properties: [Property]) {
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

    /// The entities without a superentity, in order of creation.
    public var roots: [Entity] { entities.filter { $0.parent == nil } }

    /// The entities in the order in which a store numbers them.
    ///
    /// Superentities precede subentities. Roots and siblings are ordered by name, without regard to case.
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

    /// Records an error that occurred before the model was called.
    ///
    /// Such an error, for example an unknown type or invalid UTF-8, is treated like an error of the model itself.
    package func recordError(_ error: CoreError) {
        if !isFrozen, firstError == nil { firstError = error.withoutObjects }
    }

    /// Throws the first error of the construction, or the error of a relationship without a destination.
    ///
    /// A model with such an error cannot be written.
    func requireNoErrors() throws {
        if let error = firstError ?? draftProblems.first { throw error }
        for entity in entities { for relationship in entity.ownRelationships { try relationship.requireDestination() } }
    }

    /// Clears the first error, for readers of drafts, which have recorded it.
    func clearFirstError() { firstError = nil }

    /// Runs a change of the model or of a part of it. Records the first error.
    ///
    /// - Parameters:
    ///   - entity: the changed entity, for the error of a frozen model.
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

    /// Runs a change that validates before it modifies anything.
    ///
    /// A failure does not change the model and is not recorded.
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

/// A named subset of a model's entities, for one of several stores.
public struct ModelConfiguration: Hashable, Sendable {
    /// The name of the configuration with all entities in Xcode. It does not have to be defined.
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

/// Whether a name is an identifier. Names become parts of SQL identifiers and of predicates.
package func isIdentifier(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255
        && name.unicodeScalars.enumerated().allSatisfy { position, scalar in
            scalar == "_" || scalar.properties.isAlphabetic || position > 0 && scalar.properties.numericType != nil
        }
}

/// Throws if a name is not an identifier.
///
/// - Parameter composite: The path of the composite attribute, for the name of an element.
func checkName(_ name: String, of element: String, in entity: String?, composite: String? = nil) throws {
    guard isIdentifier(name) else {
        let place = composite.map { ".\($0)" } ?? ""
        throw modelError(
            nameFault(name, of: entity.map { "\(element) of \($0)\(place)" } ?? element), entity: entity ?? name,
            key: composite.map { "\($0).\(name)" } ?? name)
    }
}

private func nameFault(_ name: String, of element: String) -> String {
    if name.isEmpty { return "the name of \(element) must not be empty" }
    if name.utf8.count > 255 {
        return "the name of \(element) has \(name.utf8.count) bytes, but the limit is 255: \"\(name.prefix(60))…\""
    }
    return "\"\(name)\" is not a valid name for \(element); use letters, digits and underscores, "
        + "without a leading digit"
}
