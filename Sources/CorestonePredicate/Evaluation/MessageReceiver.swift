import CorestoneValues

/// An object with its own functions, which `FUNCTION(receiver, "selector:", …)` prefers to registered functions.
public protocol MessageReceiver: ValueObject {
    /// Calls a function of the object.
    ///
    /// - Returns: nil if the object does not have a function of that name.
    func receive(_ selector: String, _ arguments: [PropertyValue]) throws -> PropertyValue?

    /// The names of the object's functions, for suggestions in errors.
    var selectors: [String] { get }
}
