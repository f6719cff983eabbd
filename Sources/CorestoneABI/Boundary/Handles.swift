import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestoneValues

/// The type of a handle. It is part of the handle's entry, so that handles of different types are never confused.
enum HandleType: UInt32 {
    case error = 1
    case model, entity, attribute, relationship
    case coordinator, store, context
    case object, objectID
    case predicate, fetchRequest, results, cursor
    case mappingModel
    case expression
    case rows
    case observation
    case undoManager
    case mergePolicy, conflict
    case queryGeneration
    case asynchronousFetch
    case batchRequest
    case controller, snapshot
    case container, document
    case rowSink, saveRequest
    case historyToken, historyCursor, revisions
    case migrationManager, modelReference, migrationStages

    var name: String {
        switch self {
        case .error: "error"
        case .model: "model"
        case .entity: "entity"
        case .attribute: "attribute"
        case .relationship: "relationship"
        case .coordinator: "coordinator"
        case .store: "store"
        case .context: "context"
        case .object: "object"
        case .objectID: "object ID"
        case .predicate: "predicate"
        case .fetchRequest: "fetch request"
        case .results: "results"
        case .cursor: "cursor"
        case .mappingModel: "mapping model"
        case .expression: "expression"
        case .rows: "rows"
        case .observation: "observation"
        case .undoManager: "undo manager"
        case .mergePolicy: "merge policy"
        case .conflict: "conflict"
        case .queryGeneration: "query generation"
        case .asynchronousFetch: "asynchronous fetch"
        case .batchRequest: "batch request"
        case .controller: "controller"
        case .snapshot: "snapshot"
        case .container: "container"
        case .document: "document"
        case .rowSink: "row sink"
        case .saveRequest: "save request"
        case .historyToken: "history token"
        case .historyCursor: "history cursor"
        case .revisions: "revisions"
        case .migrationManager: "migration manager"
        case .modelReference: "model reference"
        case .migrationStages: "migration stages"
        }
    }

    /// Whether the entry retains its object. Parts of a model and contexts hold their own tokens instead. The owner of
    /// the entry keeps the part or the context alive for the host.
    var isRetained: Bool {
        switch self {
        case .entity, .attribute, .relationship, .context: false
        default: true
        }
    }

    /// Whether only the context's thread may free the object.
    var isConfined: Bool {
        self == .object || self == .results || self == .cursor || self == .asynchronousFetch
            || self == .controller
    }

    /// Creates the type from the last word of an entry.
    init(ended word: UInt64) { self = HandleType(rawValue: platform_handle_type_of(word)) ?? .error }
}

/// Returns the object of a valid handle of a type, and retains it.
///
/// The most frequently called functions avoid the retain.
@inline(__always)
func resolve<Body: AnyObject>(_ pointer: Handle?, _ type: HandleType, as: Body.Type = Body.self) throws -> Body {
    guard let entry = platform_handle_find(token(pointer), type.rawValue) else { throw invalidHandle(pointer, type) }
    return Unmanaged<Body>.fromOpaque(entry.pointee.object).takeUnretainedValue()
}

/// Returns the error for a handle that is not valid for a type.
@inline(never)
func invalidHandle(_ pointer: Handle?, _ type: HandleType) -> CoreError {
    if platform_is_forked() { return Context.forked() }
    guard pointer != nil else {
        return CoreError(.invalidHandle, "the \(type.name) handle is NULL; pass a handle of this type")
    }
    if let entry = platform_handle_find_any(token(pointer)),
        let actual = HandleType(rawValue: platform_handle_type(entry)), actual != type
    {
        return CoreError(
            .invalidHandle, "the handle is of type \(actual.name), but the function takes one of type \(type.name)")
    }
    return CoreError(
        .invalidHandle,
        "the \(type.name) handle is not valid: it was released or never existed; "
            + "retain borrowed handles with cst_retain")
}

// MARK: - The parts of a model

/// The lock for tokens and accessors that any thread creates lazily, and for changes of a handle's owner.
let partLock = RecursiveLock(.leaf)

/// Returns the only handle of an entity, attribute or relationship, borrowed and valid as long as the model.
private func partToken(_ part: AnyObject, _ type: HandleType, _ cached: inout UInt, _ model: Model) throws -> Handle? {
    if cached == 0 { cached = UInt(try HandleTable.makeInner(part, type, owner: model)) }
    return handle(HandleToken(cached))
}

func borrowedHandle(_ entity: Entity) throws -> Handle? {
    try partLock.with { try partToken(entity, .entity, &entity.hostSlot, entity.model) }
}
func borrowedHandle(_ attribute: Attribute) throws -> Handle? {
    try partLock.with { try partToken(attribute, .attribute, &attribute.hostSlot, attribute.entity.model) }
}
func borrowedHandle(_ relationship: Relationship) throws -> Handle? {
    try partLock.with { try partToken(relationship, .relationship, &relationship.hostSlot, relationship.entity.model) }
}

/// Releases the tokens of a model's parts when the model is freed, including those of removed parts.
func withdrawTokens(of model: Model) {
    for entity in model.entities + model.removedEntities {
        for property in entity.ownAttributes.flatMap(\.withElements) as [Property] + entity.ownRelationships
            as [Property]
        where property.hostSlot != 0 { HandleTable.release(HandleToken(property.hostSlot)) }
        if entity.hostSlot != 0 { HandleTable.release(HandleToken(entity.hostSlot)) }
    }
    for property in model.removedProperties where property.hostSlot != 0 {
        HandleTable.release(HandleToken(property.hostSlot))
    }
}

/// Returns the error for the handle of a part that was removed from its model.
func removed(_ type: HandleType, _ entity: String, _ key: String? = nil) -> CoreError {
    let name = key.map { "\(entity).\($0)" } ?? entity
    return CoreError(
        .invalidHandle, "the \(type.name) \(name) was removed from its model; stop using its handle", entity: entity,
        key: key)
}
