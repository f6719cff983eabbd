import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneValues

/// The object behind a `cst_migration_manager`.
final class MigrationManagerBox: @unchecked Sendable {
    let manager: MigrationManager
    let sourceToken, destinationToken: HandleToken

    /// Creates a box, which takes ownership of one of the library's references to the token of each model.
    init(_ manager: MigrationManager, sourceToken: HandleToken, destinationToken: HandleToken) {
        self.manager = manager
        (self.sourceToken, self.destinationToken) = (sourceToken, destinationToken)
    }

    deinit {
        HandleTable.release(sourceToken)
        HandleTable.release(destinationToken)
    }

    /// Creates the box of a manager that a migration created.
    convenience init(borrowed manager: MigrationManager) throws {
        let source = try innerToken(of: manager.sourceModel)
        do {
            self.init(
                manager, sourceToken: source, destinationToken: try innerToken(of: manager.destinationModel))
        } catch {
            HandleTable.release(source)
            throw error
        }
    }
}

/// Creates a token of a model that a migration loaded, or for which the host has another token.
private func innerToken(of model: Model) throws -> HandleToken {
    // The `atEnd` of a model that the host passed is already set. It is not written again, because another thread may
    // use the model.
    if model.atEnd == nil { model.atEnd = withdrawTokens }
    return try HandleTable.makeInner(model, .model)
}

/// A context of a migration, whose handle is valid until the current step of the migration has ended.
private final class BorrowedContext {
    private let box: ContextBox

    init(_ context: Context) throws {
        let model = try innerToken(of: context.coordinator.model)
        let coordinator: HandleToken
        do {
            coordinator = try HandleTable.makeInner(
                CoordinatorBox(context.coordinator, modelToken: model), .coordinator)
        } catch {
            HandleTable.release(model)
            throw error
        }
        box = ContextBox(context, coordinatorToken: coordinator)
        // The host must not close the context.
        context.isShared = true
        _ = try box.makeBorrowedHandle()
    }

    /// Closes the context. Calls with handles that the host retained fail from then on.
    func end() {
        box.context.isShared = false
        _ = try? box.context.close(.discard)
    }
}

/// The bridge by which hosts borrow the contexts and managers of migrations.
struct MigrationHandleBridge: MigrationHostBridge {
    func openHandles(of contexts: [Context]) throws -> () -> Void {
        var borrowed: [BorrowedContext] = []
        do { for context in contexts { borrowed.append(try BorrowedContext(context)) } } catch {
            for each in borrowed.reversed() { each.end() }
            throw error
        }
        return { for each in borrowed.reversed() { each.end() } }
    }

    func openHandle(of manager: MigrationManager) throws -> () -> Void {
        let known = HandleToken(manager.hostSlot)
        // The host has a handle of the manager, or already borrowed it.
        if known != 0, HandleTable.retain(known) { return { HandleTable.release(known) } }
        let made = try HandleTable.makeInner(MigrationManagerBox(borrowed: manager), .migrationManager)
        manager.hostSlot = UInt(made)
        return { HandleTable.release(made) }
    }

    func endBatch(of context: Context) {
        if context.hostSlot.value != 0, let box = try? contextBox(context.hostHandle) {
            HandleTable.endReleases(of: box)
        }
    }
}

extension MigrationManager {
    /// The handle of the manager while it is borrowed.
    var handle: Handle? { CorestoneABI.handle(HandleToken(hostSlot)) }
}

extension Context {
    /// The handle of a migration's context while it is borrowed.
    var hostHandle: Handle? { handle(HandleToken(hostSlot.value)) }
}

extension PropertyValue {
    /// The argument that functions of the host receive: for variables of the migration, a name or null.
    var forHost: PropertyValue {
        if case .object(let variable as any MigrationVariable) = self { return variable.hostValue }
        return self
    }
}
