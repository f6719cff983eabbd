import CorestoneValues

/// An object with functions of its own, which `FUNCTION(receiver, "selector:", …)` calls before it looks for a registered one.
public protocol MessageReceiver: ValueObject {
    /// The result of a function.
    ///
    /// - Returns: nil if the object does not have a function of that name.
    func receive(_ selector: String, _ arguments: [PropertyValue]) throws -> PropertyValue?

    /// The names of its functions, for near misses in errors.
    var selectors: [String] { get }
}
