import CorestoneValues

/// The evaluation of `@count`, `@sum` and the other collection operators.
enum CollectionOperation {
    /// Returns the result of a collection operator.
    ///
    /// - Parameter path: the keys to the right of the operator.
    static func value(
        _ key: KeyName, of elements: [PropertyValue], isSet: Bool, path: ArraySlice<KeyName>
    ) throws -> PropertyValue {
        guard let operation = key.collectionOperator else {
            let near = nearestName(to: key.text, among: CollectionOperator.allCases.map(\.rawValue))
            throw predicateError(
                "\"\(key.text)\" is not a collection operator"
                    + (near.map { "; did you mean \"\($0)\"?" } ?? "; use @count, @sum, @avg, @min or @max"),
                key: key.text)
        }
        if operation == .count { return .int(Int64(elements.count)) }
        let leaves = path.isEmpty ? elements : try elements.map { try KeyPathEvaluation.value(of: $0, keys: path) }
        switch operation {
        case .count: return .int(Int64(leaves.count))
        case .sum: return try Statistics.sum(leaves, for: key.text)
        case .average: return try Statistics.average(leaves, countingNil: true, for: key.text)
        case .minimum: return try Statistics.extreme(leaves, sign: -1, key: key.text)
        case .maximum: return try Statistics.extreme(leaves, sign: 1, key: key.text)
        case .unionOfObjects:
            guard !isSet else {
                throw predicateError(
                    "\(key.text) needs an ordered collection, not a set; use @distinctUnionOfObjects", key: key.text)
            }
            return .array(try withoutNil(leaves, key, path))
        case .distinctUnionOfObjects: return distinct(try withoutNil(leaves, key, path), isSet)
        case .unionOfArrays: return .array(try joined(leaves, key, isSet))
        case .distinctUnionOfArrays: return distinct(try joined(leaves, key, isSet), isSet)
        case .distinctUnionOfSets: return .set(Set(try joined(leaves, key, isSet)))
        }
    }

    private static func withoutNil(
        _ leaves: [PropertyValue], _ key: KeyName, _ path: ArraySlice<KeyName>
    ) throws -> [PropertyValue] {
        let missing = leaves.count(where: \.isNull)
        guard missing == 0 else {
            let shown = ([key] + Array(path)).map(\.text).joined(separator: ".")
            let found =
                leaves.count == 1
                ? "the value is nil" : "\(missing) of the \(leaves.count) values \(missing == 1 ? "is" : "are") nil"
            throw predicateError(
                "\(shown) does not take nil, but \(found); exclude nil with SUBQUERY in an expression", key: key.text,
                value: .null)
        }
        return leaves
    }

    private static func joined(_ leaves: [PropertyValue], _ key: KeyName, _ isSet: Bool) throws -> [PropertyValue] {
        try leaves.flatMap { leaf in
            guard let elements = leaf.elements else {
                let single: CollectionOperator =
                    key.collectionOperator == .unionOfArrays && !isSet ? .unionOfObjects : .distinctUnionOfObjects
                let remedy =
                    leaf.isNull
                    ? "exclude nil with SUBQUERY in an expression" : "use \(single.rawValue) for single values"
                throw predicateError(
                    "\(key.text) joins collections, but one of the values is \(leaf.excerpt); \(remedy)", key: key.text,
                    value: leaf)
            }
            return elements
        }
    }

    private static func distinct(_ values: [PropertyValue], _ isSet: Bool) -> PropertyValue {
        if isSet { return .set(Set(values)) }
        var seen: Set<PropertyValue> = []
        return .array(values.filter { seen.insert($0).inserted })
    }
}
