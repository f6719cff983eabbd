/// How constants are printed.
package enum LiteralStyle: Sendable {
    /// As Core Data does. What is read back has the same value, though it may be another kind of number or collection.
    case plain
    /// So that what is read back means the same.
    case exact
    /// The same of a number whose kind decides what comes out: 3 / 2 is 1, 3.0 / 2 is 1.5.
    case operand
    /// For people to read.
    case message
    /// Without values: `%@` stands for each constant but nil.
    case blank

    /// Of the arguments of a function.
    var ofArguments: LiteralStyle { self == .exact ? .operand : self }
    var isExact: Bool { self == .exact || self == .operand }
}
