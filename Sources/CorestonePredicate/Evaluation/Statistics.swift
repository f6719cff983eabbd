import CorestoneValues
import Glibc

/// The aggregate functions over values, some of which may be nil.
enum Statistics {
    /// Returns the sum; 0 without values. Nil counts as 0.
    static func sum(_ values: [PropertyValue], for name: String) throws -> PropertyValue {
        var total = PropertyValue.int(0)
        for value in values where !value.isNull {
            do { total = try Arithmetic.combine(.add, total, value) } catch  where value.number == nil {
                throw predicateError(
                    "\(name) takes numbers, but \(value.excerpt) is \(value.kind)",
                    key: name.hasPrefix("@") ? name : nil,
                    value: value)
            }
        }
        return total
    }

    /// Returns the mean as a double, or as a decimal for decimals; 0 without values.
    ///
    /// - Parameter countingNil: whether nil counts as 0; otherwise nil is ignored.
    static func average(_ values: [PropertyValue], countingNil: Bool, for name: String) throws -> PropertyValue {
        let count = countingNil ? values.count : values.count { !$0.isNull }
        if count == 0 { return .double(0) }
        let total = try sum(values, for: name)
        if case .decimal(let decimal) = total { return .decimal(try decimal.divided(by: DecimalNumber(Int64(count)))) }
        return .double((total.number ?? 0) / Double(count))
    }

    /// Returns the greatest (`sign` 1) or least (`sign` -1) value that is not nil; nil if all values are nil.
    ///
    /// - Parameter key: the collection operator, for errors; nil for a function.
    static func extreme(_ values: [PropertyValue], sign: Int, key: String? = nil) throws -> PropertyValue {
        var best = PropertyValue.null
        for value in values where !value.isNull {
            if best.isNull {
                best = value
            } else if let order = try value.order(against: best) {
                if order * sign > 0 { best = value }
            } else if let number = value.number, best.number != nil {
                // Numbers are ordered unless one of them is NaN.
                throw predicateError(
                    "cannot compute the \(sign > 0 ? "maximum" : "minimum"): a value is NaN; "
                        + "exclude NaN with a condition, or with SUBQUERY in an expression",
                    key: key, value: number.isNaN ? value : best)
            } else {
                let remedy =
                    !value.hasOrder && !best.hasOrder
                    ? "; use values with an order, such as numbers, strings or dates"
                    : value.kind == best.kind ? "" : "; use values of the same kind"
                throw predicateError(
                    "cannot compute the \(sign > 0 ? "maximum" : "minimum"): \(value.unordered(against: best))"
                        + remedy,
                    key: key, value: value)
            }
        }
        return best
    }

    static func median(_ values: [PropertyValue]) throws -> PropertyValue {
        let numbers = try doubles(values, for: .median).sorted()
        if numbers.isEmpty { return .null }
        let middle = numbers.count / 2
        return .double(numbers.count % 2 == 1 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2)
    }

    /// Returns the most frequent values. They are sorted, because the order of rows is undefined.
    static func mode(_ values: [PropertyValue]) throws -> PropertyValue {
        var counts: [PropertyValue: Int] = [:]
        for value in values where !value.isNull { counts[value, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        var seen: Set<PropertyValue> = []
        let found = values.filter { counts[$0] == most && seen.insert($0).inserted }
        let byValue = SortDescriptor("self")
        return .array(
            try found.sorted { a, b in
                let order = try byValue.compare(a, b)
                if order == 0, case .object(let x) = a, case .object(let y) = b {
                    let (x, y) = (x.valueDescription, y.valueDescription)
                    return x.utf8.count == y.utf8.count ? x < y : x.utf8.count < y.utf8.count
                }
                return order < 0
            })
    }

    /// Returns the population standard deviation: the divisor is the number of values. Returns nil without values.
    static func standardDeviation(_ values: [PropertyValue]) throws -> PropertyValue {
        let numbers = try doubles(values, for: .standardDeviation)
        if numbers.isEmpty { return .null }
        let mean = numbers.reduce(0, +) / Double(numbers.count)
        let squares = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return .double((squares / Double(numbers.count)).squareRoot())
    }

    private static func doubles(_ values: [PropertyValue], for function: Function) throws -> [Double] {
        try values.filter { !$0.isNull }.map { value in
            guard let number = value.number else {
                throw predicateError(
                    "\(function.rawValue) takes numbers, but \(value.excerpt) is \(value.kind)", value: value)
            }
            return number
        }
    }
}
