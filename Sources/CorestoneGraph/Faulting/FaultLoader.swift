import CorestoneModel
import CorestoneValues

/// The loading of objects on demand: rows, members, targets and parts of rows.
///
/// 1. `loadRow` fires a fault: the row comes from the row cache, or else from the store, together with the rows of the
///    next faults of its group.
/// 2. `loadRows` and `loadMembers` load the rows and the members of many objects together; `prefetch` follows key paths
///    with these functions.
/// 3. In a nested context, values of ancestor contexts take precedence over the store
///    (`FaultLoader+Ancestors.swift`).
/// 4. A fault whose row is missing is inaccessible, or loading it is an error (`FaultLoader+Inaccessible.swift`).
struct FaultLoader {
    let context: Context
}

extension Context {
    /// A function that returns the application's current call site. Has precedence over `callSite`.
    package var callSiteFinder: (() -> CallSite?)? {
        get { faultState.callSiteFinder }
        set { faultState.callSiteFinder = newValue }
    }

    /// Loads the row of a fault; see `FaultLoader`.
    ///
    /// Not inlined, because the caller would retain the context for the loader once more for each fault.
    @inline(never)
    func loadRow(of object: ManagedObject, reading slot: Int?) throws {
        try faultLoader.loadRow(of: object, reading: slot)
    }
}
