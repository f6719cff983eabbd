/// The style in which constants are printed.
package enum LiteralStyle: Sendable {
    /// As Core Data prints them. Types of numbers and collections, and digits of dates and decimals, can be lost.
    case plain
    /// With the types and digits that affect the meaning, so that the parsed text has the same meaning.
    ///
    /// This does not apply to objects, which cannot be parsed.
    case exact
    /// Like `exact`, for a number whose type affects the result: 3 / 2 is 1, 3.0 / 2 is 1.5.
    case operand
    /// For messages to people.
    case message
    /// Without values: each constant except nil is printed as `%@`.
    case blank

    /// The style for the arguments of a function.
    var ofArguments: LiteralStyle { self == .exact ? .operand : self }
    var isExact: Bool { self == .exact || self == .operand }
}
