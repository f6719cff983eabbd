import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// An error with its texts as C hosts read them, and its details as handles of its own.
final class ErrorBox {
    let error: CoreError
    let domain, message: Text
    let entity, key, objectURI, file: Text?
    let details: [UInt]
    /// The token of an object that is the error's value, if it is one.
    let valueToken: UInt
    let valueType: ValueType

    init(_ error: CoreError) {
        self.error = error
        domain = Text(error.domain)
        message = Text(error.message)
        entity = error.entity.map { Text($0) }
        key = error.key.map { Text($0) }
        objectURI = error.objectURI.map { Text($0) }
        file = error.file.map { Text($0) }
        details = error.children.compactMap { try? newToken(.error, ErrorBox($0)) }
        // An object would belong to a queue, and errors cross threads: its ID stands for it.
        switch error.value {
        case .object(let object as ManagedObject):
            valueToken = (try? newToken(.objectID, ObjectIDBox(object.objectID))) ?? 0
            valueType = .objectID
        case .object(let reference as ObjectIDReference):
            valueToken = (try? newToken(.objectID, ObjectIDBox(reference.id))) ?? 0
            valueType = .objectID
        default:
            valueToken = 0
            valueType = .null
        }
    }

    deinit {
        for token in details { releaseToken(UInt64(token)) }
        if valueToken != 0 { releaseToken(UInt64(valueToken)) }
    }
}

/// A coordinator, and the token of its model that it keeps for hosts.
final class CoordinatorBox {
    let coordinator: Coordinator
    let modelToken: UInt

    init(_ coordinator: Coordinator, modelToken: UInt) {
        self.coordinator = coordinator
        self.modelToken = modelToken
    }

    deinit { releaseToken(UInt64(modelToken)) }
}

final class StoreBox {
    let store: Store
    let identifier, path: Text

    init(_ store: Store) {
        self.store = store
        identifier = Text(store.identifier)
        path = Text(store.path)
    }
}

/// A context, and the token of its coordinator that it keeps for hosts.
final class ContextBox {
    let context: Context
    let coordinatorToken: UInt
    /// Keeps the interrupt check's userdata.
    var interrupt: Userdata?

    init(_ context: Context, coordinatorToken: UInt) {
        self.context = context
        self.coordinatorToken = coordinatorToken
    }

    /// No handle leads here any more: what other threads released is freed now.
    func end() {
        context.token = 0
        drainReleases(context)
    }

    deinit { releaseToken(UInt64(coordinatorToken)) }
}

final class ObjectIDBox {
    let id: ObjectID
    /// Entities live as long as their model.
    private let model: Model

    init(_ id: ObjectID) {
        self.id = id
        model = id.entity.model
    }
}

final class PredicateBox {
    let predicate: Predicate
    init(_ predicate: Predicate) { self.predicate = predicate }
}

final class FetchRequestBox {
    let request: FetchRequest
    private let model: Model

    init(_ request: FetchRequest) {
        self.request = request
        model = request.entity.model
    }
}

/// A list of objects or of IDs, with a token for each object that was handed out.
final class ResultList {
    let contextToken: UInt
    let context: Context
    let objects: [ManagedObject]
    let ids: [ObjectID]
    /// By index, 0 where none was handed out yet.
    private var tokens: [UInt] = []
    /// Values that key paths computed, kept so that views of them stay valid.
    let kept = KeptValues()

    /// Keeps the context's token.
    init(_ objects: [ManagedObject], ids: [ObjectID] = [], context: Context) throws {
        guard platform_handle_retain(UInt64(context.token)) else {
            throw CoreError(.invalidHandle, "the context is not alive")
        }
        contextToken = context.token
        self.context = context
        self.objects = objects
        self.ids = ids
    }

    deinit {
        for token in tokens where token != 0 { releaseToken(UInt64(token)) }
        releaseToken(UInt64(contextToken))
    }

    var count: Int { ids.isEmpty ? objects.count : ids.count }

    func token(at index: Int) throws -> UInt {
        if tokens.isEmpty { tokens = [UInt](repeating: 0, count: objects.count) }
        if tokens[index] == 0 { tokens[index] = try ownedToken(objects[index]) }
        return tokens[index]
    }
}

/// What a host hung on a callback: freed exactly once, when the last that needs it lets go.
final class Userdata: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
    private let destroy: cst_destroy_fn?

    init(_ pointer: UnsafeMutableRawPointer?, _ destroy: cst_destroy_fn?) {
        self.pointer = pointer
        self.destroy = destroy
    }

    deinit { destroy?(pointer) }
}
