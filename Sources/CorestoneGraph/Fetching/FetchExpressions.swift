import CorestoneModel
import CorestonePredicate
import CorestoneValues

// FETCH(request, context, countOnly): an expression whose value is the result of a request, such as the right side of
// an IN.
extension Expression {
    /// Creates an expression for the result of a request, or for its count. The request is copied.
    ///
    /// - Parameter context: The context that executes the request; nil for the context that executes the fetch with the
    ///   expression in its predicate.
    public static func fetch(_ request: FetchRequest, in context: Context?, isCounted: Bool = false) -> Expression {
        .fetch(
            .constant(.object(request.copy())), context: .constant(context.map { .object($0) } ?? .null),
            countOnly: .constant(.bool(isCounted)))
    }
}

extension FetchRequest: ValueObject {
    public func isEqual(to other: any ValueObject) -> Bool { other === self }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    public var valueDescription: String { "<fetch of \(entityName ?? "nothing")>" }
}

extension Context: FetchSource {
    public func isEqual(to other: any ValueObject) -> Bool { other === self }
    public func hashIdentity(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    public var valueDescription: String { "<\(label.text)>" }

    public func value(ofFetch request: any ValueObject, isCounted: Bool) throws -> PropertyValue {
        guard let request = (request as? FetchRequest)?.copy() else {
            throw CoreError(
                .predicate, "FETCH takes a fetch request, not \(request.valueDescription)", value: .object(request))
        }
        if isCounted { request.resultType = .count }
        switch try execute(request) {
        case .objects(let objects): return .array(objects.map { .object($0) })
        case .objectIDs(let ids): return .array(ids.map { .object(ObjectIDReference($0)) })
        case .dictionaries(let rows): return .array(try rows.dictionaries.map { .dictionary($0) })
        case .count(let count): return .int(Int64(count))
        case .asynchronous: return .null
        }
    }
}

extension Context {
    /// Returns the request with the FETCH expressions in its predicate replaced by their results.
    func withFetchesDone(_ request: FetchRequest) throws -> FetchRequest {
        guard let predicate = request.predicate, predicate.hasFetches else { return request }
        var failure: (any Error)?
        let done = request.copy()
        done.predicate = predicate.mapExpressions { expression in
            guard failure == nil, case .fetch(let inner, let context, let isCounted) = expression else { return nil }
            do {
                let own: Expression = context.constantValue?.isNull == true ? .constant(.object(self)) : context
                return .constant(try Expression.fetch(inner, context: own, countOnly: isCounted).value(with: .null))
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { throw failure }
        return done
    }
}
