import CorestoneValues

/// A context of `FETCH(request, context, countOnly)`.
public protocol FetchSource: ValueObject {
    /// Returns the results of a fetch request, or only their number.
    func value(ofFetch request: any ValueObject, isCounted: Bool) throws -> PropertyValue
}

extension Predicate {
    /// Whether the predicate contains a `FETCH`.
    package var hasFetches: Bool {
        switch self {
        case .constant, .block: false
        case .comparison(let comparison): comparison.left.hasFetches || comparison.right.hasFetches
        case .compound(let compound): compound.parts.contains(where: \.hasFetches)
        }
    }
}

extension Expression {
    fileprivate var hasFetches: Bool {
        switch self {
        case .fetch: true
        case .constant, .selfObject, .keyPath, .variable, .anyKey: false
        default: operands.contains(where: \.hasFetches) || condition?.hasFetches == true
        }
    }
}
