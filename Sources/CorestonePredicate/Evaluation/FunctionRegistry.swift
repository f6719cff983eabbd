import CorestoneValues

/// A function of the host's, called as `FUNCTION(receiver, "name", a, b)`, on the thread that evaluates.
public typealias HostFunction =
    @Sendable (_ receiver: PropertyValue, _ arguments: [PropertyValue]) throws ->
    PropertyValue

/// The functions of the host's that predicates of this process may call. Any thread may use it at any time.
public enum FunctionRegistry {
    private static let functions = Locked<[String: HostFunction]>([:])

    /// Gives the name a function, in place of the one that it had.
    ///
    /// - Parameter name: as it stands in the predicate, colons included: `slug`, `pow:`.
    public static func register(_ name: String, _ function: @escaping HostFunction) {
        // What is replaced goes away outside the lock: the host may register again when it learns of it.
        let replaced = functions.withLock { $0.updateValue(function, forKey: name) }
        withExtendedLifetime(replaced) {}
    }

    /// Removes the function of a name. A call that has begun ends as it would have; later ones fail.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public static func unregister(_ name: String) -> Bool {
        let removed = functions.withLock { $0.removeValue(forKey: name) }
        return removed != nil
    }

    package static func function(named name: String) -> HostFunction? { functions.withLock { $0[name] } }

    static var names: [String] { functions.withLock { Array($0.keys) } }
}
