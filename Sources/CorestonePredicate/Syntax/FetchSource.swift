import CorestoneValues

/// What `FETCH(request, context, countOnly)` takes as its context.
public protocol FetchSource: ValueObject {
    /// What a request finds, or only how much.
    func value(ofFetch request: any ValueObject, isCounted: Bool) throws -> PropertyValue
}

extension Predicate {
    /// Whether a `FETCH` stands anywhere in it.
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
