import CorestoneModel
import CorestoneValues

// Single faults are tracked only if a fault policy or the report requires it; otherwise `faultState.watch` is nil.
extension FaultLoader {
    /// Applies the fault policy before a fault, or the members of an object, are read with a separate query.
    func applyFaultPolicy(_ object: ManagedObject, along relationship: Relationship?) throws {
        guard let faultWatch = context.faultState.watch else { return }
        // The caller must not hold a lock, because `callSiteFinder` is the application's code. The context rejects its
        // calls meanwhile, because the fault may fire during a change of an object.
        let site = context.faultState.callSiteFinder.flatMap { find in context.closed(for: .callSite) { find() } }
        try faultWatch.applyPolicy(object, along: relationship, at: site ?? context.callSite)
    }

    /// Runs work of the library that the application cannot change.
    ///
    /// Its single faults are counted, but the fault policy neither logs nor rejects them.
    func exemptFromFaultPolicy<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let faultWatch = context.faultState.watch else { return try body() }
        faultWatch.exemptions += 1
        defer { faultWatch.exemptions -= 1 }
        return try body()
    }
}
