import CorestoneValues

extension Expression {
    /// Creates a call of a built-in function by its name in format strings: `add:to:`, `uppercase:` or `uppercase`.
    ///
    /// - Throws: `.invalidArgument` for an unknown name, with the most similar one, or for a wrong number of arguments.
    public static func calling(_ name: String, _ arguments: [Expression]) throws -> Expression {
        guard let function = Function(named: name) else {
            throw CoreError(.invalidArgument, unknownFunction(name), key: name)
        }
        if function == .random, arguments.count == 1 { return .function(.randomBelow, arguments) }
        try function.requireCount(arguments.count, as: name)
        switch function {
        case .elementAt: return .indexed(arguments[0], .value(arguments[1]))
        case .castObject: return .cast(arguments[0], type: arguments[1])
        default: return .function(function, arguments)
        }
    }

    static func unknownFunction(_ name: String) -> String {
        let near = nearestName(to: name, among: Function.allCases.map(\.rawValue))
        let remedy =
            near.map { "; did you mean \"\($0)\"?" }
            ?? "; use a built-in function, or FUNCTION(receiver, \"name\") for a registered one"
        return "the function \"\(name)\" is not defined\(remedy)"
    }
}

extension Function {
    /// Checks the number of arguments.
    ///
    /// - Throws: `.invalidArgument` if the number of arguments is wrong.
    func requireCount(_ count: Int, as name: String) throws {
        let least = argumentCounts.lowerBound
        if argumentCounts.contains(count) { return }
        // `random` with an argument is `random:`.
        let orMore = argumentCounts.upperBound != least ? " or more" : self == .random && count > 1 ? " or 1" : ""
        throw CoreError(
            .invalidArgument,
            "\(name) takes \(least)\(orMore) argument\(least == 1 && orMore.isEmpty ? "" : "s"), not \(count)",
            key: name, value: .int(Int64(count)))
    }
}
