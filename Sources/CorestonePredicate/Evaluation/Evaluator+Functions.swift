import CorestoneValues
import Glibc

extension Evaluator {
    /// Evaluates arithmetic on one or two operands without creating an array. Returns nil for other functions.
    func arithmetic(_ function: Function, _ arguments: [Expression]) throws -> PropertyValue? {
        if !function.argumentCounts.contains(arguments.count) {
            try function.requireCount(arguments.count, as: function.rawValue)
        }
        switch function {
        case .add, .subtract, .multiply, .divide, .modulus, .power, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift,
            .rightShift:
            let (left, right) = (try value(arguments[0]), try value(arguments[1]))
            if arithmetic == .nilPropagating, left.isNil(to: function) || right.isNil(to: function) { return .null }
            if left.number != nil, right.isZeroDivisor(of: function) {
                if arithmetic == .nilPropagating { return .null }
                let format = Expression.function(function, arguments).format
                let isFixed =
                    switch arguments[1] {
                    case .constant, .variable: true
                    default: false
                    }
                throw predicateError(
                    right.number == 0
                        ? "division by zero in \"\(format)\""
                            + (isFixed ? "" : "; exclude 0 as the divisor with a condition or TERNARY")
                        : "division by zero in \"\(format)\", which truncates the divisor \(right.excerpt) to 0"
                            + (isFixed ? "" : "; exclude divisors between -1 and 1 with a condition or TERNARY"),
                    entity: entityName(for: arguments[1]), key: arguments[1].pathText, value: right)
            }
            return replacingNaN(try Arithmetic.combine(function, left, right))
        case .negate, .abs, .floor, .ceiling, .truncate, .sqrt, .log10, .naturalLog, .exp, .onesComplement:
            let operand = try value(arguments[0])
            if arithmetic == .nilPropagating, operand.isNil(to: function) { return .null }
            return replacingNaN(try Arithmetic.apply(function, operand))
        default: return nil
        }
    }

    /// Replaces NaN with nil if arithmetic propagates nil, as in SQL.
    private func replacingNaN(_ result: PropertyValue) -> PropertyValue {
        if arithmetic == .nilPropagating, case .double(let number) = result, number.isNaN { return .null }
        return result
    }

    /// Evaluates a function with evaluated arguments.
    ///
    /// - Parameter sources: the expressions of the values, for errors.
    func call(
        _ function: Function, _ arguments: [PropertyValue], of sources: [Expression]
    ) throws -> PropertyValue {
        switch function {
        case .average, .sum, .count, .min, .max, .median, .mode, .standardDeviation:
            return try statistics(function, arguments)
        case .uppercase, .lowercase, .canonical, .length: return try text(function, arguments[0], sources[0])
        case _ where function.takesDate: return try part(function, of: arguments[0], sources[0])
        case .now:
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return .date(Double(time.tv_sec) - 978_307_200 + Double(time.tv_nsec) / 1e9)
        case .random: return .double(Double.random(in: 0..<1))
        case .randomBelow, .randomBelowN:
            let bound = try Arithmetic.whole(arguments[0], for: function)
            guard bound > 0 else {
                throw predicateError(
                    "\(function.rawValue) takes a number of at least 1, \(sources[0].mismatch(arguments[0]))",
                    value: arguments[0])
            }
            return .int(Int64.random(in: 0..<bound))
        case .noIndex, .indexedBy, .inverseOrderKey: return arguments[0]
        case .distinct:
            guard let elements = arguments[0].elements else {
                throw predicateError(
                    "distinct: takes a list or a set, \(sources[0].mismatch(arguments[0]))", value: arguments[0])
            }
            return .set(Set(elements))
        case .elementAt: return try element(at: arguments[1], of: arguments[0])
        case .castObject: return try cast(arguments[0], to: arguments[1])
        case .distance: return try distance(arguments, of: sources)
        default:
            throw predicateError(
                "\(function.rawValue) cannot be called with \(arguments.count) argument\(arguments.count == 1 ? "" : "s"); report it as a defect of the library"
            )
        }
    }

    private func statistics(_ function: Function, _ arguments: [PropertyValue]) throws -> PropertyValue {
        if arguments.count == 1, arguments[0].isNull { return function == .count ? .int(0) : .null }
        let values = arguments.count == 1 ? arguments[0].elements ?? arguments : arguments
        switch function {
        case .count:
            if arguments.count == 1, case .dictionary(let members) = arguments[0] { return .int(Int64(members.count)) }
            return .int(Int64(values.count))
        case .sum: return try Statistics.sum(values, for: function.rawValue)
        case .min: return try Statistics.extreme(values, sign: -1)
        case .max: return try Statistics.extreme(values, sign: 1)
        case .median: return try Statistics.median(values)
        case .mode: return try Statistics.mode(values)
        case .standardDeviation: return try Statistics.standardDeviation(values)
        default: return try Statistics.average(values, countingNil: false, for: function.rawValue)
        }
    }

    private func text(_ function: Function, _ value: PropertyValue, _ source: Expression) throws -> PropertyValue {
        if value.isNull { return .null }
        guard let text = value.textual else {
            throw predicateError("\(function.rawValue) takes a string, \(source.mismatch(value))", value: value)
        }
        switch function {
        case .uppercase: return .string(text.string.uppercased())
        case .lowercase: return .string(text.string.lowercased())
        case .length: return .int(Int64(text.string.utf16.count))
        default: return .text(foldText(text.utf8, caseInsensitive: true, diacriticInsensitive: true))
        }
    }

    /// Returns a part of a date, or the start of the period that contains it; nil for nil.
    private func part(
        _ function: Function, of value: PropertyValue, _ source: Expression
    ) throws -> PropertyValue {
        if value.isNull { return .null }
        guard case .date(let seconds) = value else {
            throw predicateError("\(function.rawValue) takes a date, \(source.mismatch(value))", value: value)
        }
        return function.result(ofDate: seconds)
    }

    /// Returns the distance in metres between two points, given as latitude and longitude in degrees.
    ///
    /// The points are on a sphere with the earth's mean radius. Returns nil if a point is nil.
    private func distance(_ arguments: [PropertyValue], of sources: [Expression]) throws -> PropertyValue {
        func point(_ value: PropertyValue, _ source: Expression) throws -> (latitude: Double, longitude: Double) {
            let parts: [PropertyValue]
            switch value {
            case .array(let pair): parts = pair
            case .dictionary, .object:
                parts = try ["latitude", "longitude"].map { try KeyPathEvaluation.value(of: value, atKeyPath: $0) }
            default: parts = []
            }
            guard parts.count == 2, let latitude = parts[0].number, let longitude = parts[1].number else {
                throw predicateError(
                    "\(Function.distance.rawValue) takes a location, \(source.mismatch(value)); pass a list of "
                        + "latitude and longitude in degrees, or an object or dictionary with numbers for the keys latitude "
                        + "and longitude",
                    value: value)
            }
            return (latitude * .pi / 180, longitude * .pi / 180)
        }
        if arguments[0].isNull || arguments[1].isNull { return .null }
        let (a, b) = (try point(arguments[0], sources[0]), try point(arguments[1], sources[1]))
        let (u, v) = (sin((b.latitude - a.latitude) / 2), sin((b.longitude - a.longitude) / 2))
        let chord = u * u + cos(a.latitude) * cos(b.latitude) * v * v
        return .double(2 * 6_371_008.8 * asin(min(1, chord.squareRoot())))
    }
}

extension PropertyValue {
    /// Whether a store returns nil for the operand.
    ///
    /// It does for nil, and for a number beyond 64 bits if the function needs an integer.
    fileprivate func isNil(to function: Function) -> Bool {
        switch function {
        case .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
            if case .int = self { return false }
            return number.map { Int64(exactly: $0.rounded(.towardZero)) == nil } ?? isNull
        default: return isNull
        }
    }

    /// Whether the function cannot divide by the number. A remainder truncates its divisor.
    fileprivate func isZeroDivisor(of function: Function) -> Bool {
        guard let number else { return false }
        return function == .divide ? number == 0 : function == .modulus && number.magnitude < 1
    }
}
