import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneMigration
import CorestoneModel
import CorestoneValues

/// A migration manager as hosts know it.
final class MigrationManagerBox: @unchecked Sendable {
    let manager: MigrationManager
    let sourceToken, destinationToken: Token

    /// Takes over one of the library's references to the token of each model.
    init(_ manager: MigrationManager, sourceToken: Token, destinationToken: Token) {
        self.manager = manager
        (self.sourceToken, self.destinationToken) = (sourceToken, destinationToken)
    }

    deinit {
        HandleTable.release(sourceToken)
        HandleTable.release(destinationToken)
    }

    /// One for a manager that a migration made itself.
    convenience init(lent manager: MigrationManager) throws {
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

/// A token of a model that a migration loaded, or that the host knows by another token.
private func innerToken(of model: Model) throws -> Token {
    // Another thread may use a model that the host has handed over, which has its function already.
    if model.atEnd == nil { model.atEnd = withdrawTokens }
    return try HandleTable.makeInner(model, .model)
}

/// A context of a migration, whose handle lives until the step that uses it has ended.
private final class LentContext {
    private let box: ContextBox

    init(_ context: Context) throws {
        let model = try innerToken(of: context.coordinator.model)
        let coordinator: Token
        do {
            coordinator = try HandleTable.makeInner(
                CoordinatorBox(context.coordinator, modelToken: model), .coordinator)
        } catch {
            HandleTable.release(model)
            throw error
        }
        box = ContextBox(context, coordinatorToken: coordinator)
        // Only the migration closes it.
        context.isShared = true
        _ = try box.makeLentHandle()
    }

    /// Handles that the host retained serve no more.
    func end() {
        box.context.isShared = false
        _ = try? box.context.close(.discard)
    }
}

/// Tells migrations how to make their contexts and managers known to hosts.
func lendMigrations() {
    MigrationHosting.lendContexts = { contexts in
        var lent: [LentContext] = []
        do { for context in contexts { lent.append(try LentContext(context)) } } catch {
            for each in lent.reversed() { each.end() }
            throw error
        }
        return { for each in lent.reversed() { each.end() } }
    }
    MigrationHosting.endBatch = { context in
        if context.hostSlot.value != 0, let box = try? contextBox(context.lentHandle) {
            HandleTable.endReleases(of: box)
        }
    }
    MigrationHosting.lendManager = { manager in
        let known = Token(manager.hostSlot)
        // The host has it, or it is lent already.
        if known != 0, HandleTable.retain(known) { return { HandleTable.release(known) } }
        let made = try HandleTable.makeInner(MigrationManagerBox(lent: manager), .migrationManager)
        manager.hostSlot = UInt(made)
        return { HandleTable.release(made) }
    }
}

extension MigrationManager {
    /// While it is lent.
    var handle: Handle? { CorestoneABI.handle(Token(hostSlot)) }
}

extension Context {
    /// Of a migration, while it is lent.
    var lentHandle: Handle? { handle(Token(hostSlot.value)) }
}

extension PropertyValue {
    /// What functions of the host get: names and nulls for variables that only the library knows.
    var forHost: PropertyValue {
        if case .object(let variable as any MigrationVariable) = self { return variable.hostValue }
        return self
    }
}
