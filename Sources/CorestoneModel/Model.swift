import CorestoneValues

/// The entities of a store and how they hang together.
///
/// Built by one thread, then frozen by the first coordinator that uses it; from then on immutable, so any thread may read
/// it. The first mistake in construction sticks: later changes throw it again, and so does `freeze`.
public final class Model: @unchecked Sendable {
    /// In order of creation.
    public private(set) var entities: [Entity] = []
    /// Labels of this version, for people; no meaning at run time.
    public private(set) var versionIdentifiers: [String] = []
    public private(set) var isFrozen = false

    private var entitiesByName: [String: Entity] = [:]
    private var firstError: CoreError?
    var nextPropertyNumber: UInt32 = 1
    /// Lets the C boundary withdraw the tokens of the model's entities and properties with the model.
    package var atEnd: ((Model) -> Void)?

    public init() {}

    deinit { atEnd?(self) }

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
            try checkName(name, of: "an entity", in: nil)
            guard entitiesByName[name] == nil else {
                throw modelError("the model has an entity \(name) already; give this one another name", entity: name)
            }
            let entity = Entity(name: name, model: self)
            entities.append(entity)
            entitiesByName[name] = entity
            return entity
        }
    }

    public func addVersionIdentifier(_ identifier: String) throws {
        try change { if !versionIdentifiers.contains(identifier) { versionIdentifiers.append(identifier) } }
    }

    /// Checks the whole model and makes it immutable. Does nothing when it is frozen already.
    public func freeze() throws {
        if isFrozen { return }
        try change {
            for entity in entities { try entity.checkHierarchy() }
            for entity in roots { try entity.layOut(after: []) }
            for entity in entities { try entity.check() }
            for (number, entity) in preorder.enumerated() { entity.number = UInt32(number + 1) }
            for (index, entity) in entities.enumerated() { entity.index = UInt32(index) }
            for entity in entities {
                entity.settleRoot()
                for relationship in entity.ownRelationships {
                    relationship.destinationIndex = relationship.destination.index
                }
            }
            isFrozen = true
        }
    }

    /// Entities without a parent, in order of creation.
    public var roots: [Entity] { entities.filter { $0.parent == nil } }

    /// The walk that numbers entities in a store: parents before children, roots and siblings sorted by name without
    /// regard to case (store-format.md 1.1).
    public var preorder: [Entity] {
        var walk: [Entity] = []
        func visit(_ siblings: [Entity]) {
            for entity in siblings.sorted(by: Entity.precedes) {
                walk.append(entity)
                visit(entity.children)
            }
        }
        visit(roots)
        return walk
    }

    /// Lets a refusal that came before the model could look (no such type, text that is no UTF-8) stick like the model's own.
    package func remember(_ mistake: CoreError) { if !isFrozen, firstError == nil { firstError = mistake } }

    /// Runs a change of the model or of anything in it; remembers the first mistake.
    func change<Result>(_ body: () throws -> Result) throws -> Result {
        if let firstError { throw firstError }
        guard !isFrozen else {
            throw modelError("the model is in use by a coordinator and cannot change; build another one")
        }
        do { return try body() } catch {
            firstError = error as? CoreError
            throw error
        }
    }
}

func modelError(
    _ message: String, entity: String? = nil, key: String? = nil, value: PropertyValue? = nil
) -> CoreError {
    CoreError(.model, code: .coreData, message, entity: entity, key: key, value: value)
}

/// Names become parts of SQL identifiers and of predicates, hence identifiers only.
func checkName(_ name: String, of what: String, in entity: String?) throws {
    let isIdentifier =
        !name.isEmpty && name.utf8.count <= 255
        && name.unicodeScalars.enumerated().allSatisfy { position, scalar in
            scalar == "_" || scalar.properties.isAlphabetic || position > 0 && scalar.properties.numericType != nil
        }
    guard isIdentifier else {
        throw modelError(
            "\"\(name)\" cannot name \(what): use letters, digits and underscores, no digit first", entity: entity,
            key: name)
    }
}
