/// The application's lifecycle hooks for the objects of an entity. The object graph implements this protocol.
package protocol EntityHooks: AnyObject, Sendable {
    /// A bit for each kind of hook that is set, for a quick test.
    var kinds: UInt32 { get }
    /// The validators of the hooks.
    var validators: EntityValidators { get }
    /// Returns these hooks, with each hook and each value validator of `parent` that is not set here.
    func inheriting(_ parent: any EntityHooks) -> any EntityHooks
}

extension Entity {
    /// Sets the hooks, and replaces existing ones; nil removes them. The model must not be frozen.
    package func setHooks(_ hooks: (any EntityHooks)?) throws { try change { self.hooks = hooks } }

    /// Combines the hooks of the entity and of its subentities with inherited ones. Called for each root entity.
    func resolveHooks() {
        let inherited = parent?.allHooks
        if let hooks, let inherited {
            allHooks = hooks.inheriting(inherited)
        } else {
            allHooks = hooks ?? inherited
        }
        hookKinds = allHooks?.kinds ?? 0
        for child in children { child.resolveHooks() }
    }
}
