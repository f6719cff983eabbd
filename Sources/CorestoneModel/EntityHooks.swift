/// What a host does at turning points in the life of an entity's objects. The layer above, which has objects, knows how.
package protocol EntityHooks: AnyObject, Sendable {
    /// A bit for each kind of hook that is there, so that one look tells whether anybody asked.
    var kinds: UInt32 { get }
    /// The checks of values and objects among the hooks.
    var validators: EntityValidators { get }
    /// These, and those of `parent` where there are none here, as a method of a class hides its parent's.
    func inheriting(_ parent: any EntityHooks) -> any EntityHooks
}

extension Entity {
    /// Takes the place of hooks that were set before; nil removes them. The model must not be frozen.
    package func setHooks(_ hooks: (any EntityHooks)?) throws { try change { self.hooks = hooks } }

    /// The hooks of the entity's objects, which are its own and its parent's. Parents are settled first.
    func settleHooks() {
        let inherited = parent?.allHooks
        if let hooks, let inherited {
            allHooks = hooks.inheriting(inherited)
        } else {
            allHooks = hooks ?? inherited
        }
        hookKinds = allHooks?.kinds ?? 0
        for child in children { child.settleHooks() }
    }
}
