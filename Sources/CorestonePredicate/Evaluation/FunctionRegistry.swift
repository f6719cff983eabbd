import CorestoneValues

/// A function of the application, called as `FUNCTION(receiver, "name", a, b)`.
///
/// The function is called on the thread that evaluates the predicate.
public typealias HostFunction =
    @Sendable (_ receiver: PropertyValue, _ arguments: [PropertyValue]) throws ->
    PropertyValue

/// The functions of the application that predicates in this process can call. Thread-safe.
public enum FunctionRegistry {
    private static let functions = Locked<[String: HostFunction]>([:])

    /// Registers a function under a name, and replaces an existing function of that name.
    ///
    /// - Parameter name: the name as in the predicate, with colons: `slug`, `pow:`.
    public static func register(_ name: String, _ function: @escaping HostFunction) {
        // The replaced function is released outside the lock, because its deallocation can run code that registers a
        // function.
        let replaced = functions.withLock { $0.updateValue(function, forKey: name) }
        withExtendedLifetime(replaced) {}
    }

    /// Deregisters a function. Calls in progress complete; later calls do not find the function.
    ///
    /// - Returns: whether the name was registered.
    @discardableResult
    public static func unregister(_ name: String) -> Bool {
        let removed = functions.withLock { $0.removeValue(forKey: name) }
        return removed != nil
    }

    package static func function(named name: String) -> HostFunction? { functions.withLock { $0[name] } }

    static var names: [String] { functions.withLock { Array($0.keys) } }
}
