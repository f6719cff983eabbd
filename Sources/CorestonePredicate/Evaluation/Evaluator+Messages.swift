import CorestoneValues

extension Evaluator {
    /// Evaluates `FUNCTION(receiver, "selector", …)`.
    ///
    /// Calls a function of the receiver, or else a registered function of the application, or else a built-in method. A
    /// selector without colons may also be a key of the receiver. Returns nil for a nil receiver.
    func send(_ selector: PropertyValue, to receiver: PropertyValue, _ arguments: [PropertyValue]) throws
        -> PropertyValue
    {
        guard case .text(let text) = selector else {
            throw predicateError("FUNCTION takes its selector as a string, not \(selector.kind)", value: selector)
        }
        if receiver.isNull { return .null }
        let name = text.string
        if case .object(let object as any MessageReceiver) = receiver,
            let value = try object.receive(name, arguments)
        {
            return value
        }
        if let function = FunctionRegistry.function(named: name) {
            return try function(receiver.withOriginals, arguments.map(\.withOriginals))
        }
        let wanted = name.utf8.count { $0 == UInt8(ascii: ":") }
        guard wanted == arguments.count else {
            if wanted == 0, arguments.count == 1, isKnown("\(name):") {
                throw predicateError(
                    "the function \"\(name)\" is not registered; did you mean \"\(name):\"?", key: name)
            }
            throw predicateError(
                "the function \"\(name)\" is not registered, and a method of this name takes \(wanted) "
                    + "argument\(wanted == 1 ? "" : "s") (one per colon), not \(arguments.count). Pass one per colon, "
                    + "or register the function with cst_function_register (register_function, "
                    + "FunctionRegistry.register)", key: name)
        }
        if wanted == 0 {
            if let value = try receiver.property(name) { return value }
            if case .object(let object as any KeyValueCoding) = receiver { return try object.value(forKey: name) }
            if case .dictionary = receiver { return try KeyPathEvaluation.value(of: receiver, atKeyPath: name) }
        } else if ComparisonMethod(rawValue: name) != nil {
            return .bool(try holds(name, receiver, arguments[0]))
        } else if let message = Message(rawValue: name) {
            if let value = try self.value(of: message, receiver, arguments) { return value }
            throw predicateError(
                "\(name) applies to \(message.operands), not to \(receiver.kind) and \(arguments[0].kind)", key: name,
                value: receiver)
        }
        throw unknown(name, of: receiver)
    }

    /// Whether `left selector: right` is true, by a registered function or else by a built-in method.
    func holds(_ selector: String, _ left: PropertyValue, _ right: PropertyValue) throws -> Bool {
        if let function = FunctionRegistry.function(named: selector) {
            let result = try function(left.withOriginals, [right.withOriginals])
            guard let truth = result.number else {
                throw predicateError(
                    "the function \"\(selector)\" is used as an operator and must return a boolean, not "
                        + "\(result.kind)",
                    key: selector,
                    value: result)
            }
            return truth != 0
        }
        guard let method = ComparisonMethod(rawValue: selector) else { throw unknown(selector, of: left) }
        switch method {
        case .isKind, .isMember:
            guard case .text(let wanted) = right else {
                throw predicateError(
                    "\(selector) takes the name of a class, not \(right.kind)", key: selector, value: right)
            }
            let names = left.classNames
            return method == .isKind ? names.contains(wanted.string) : names.first == wanted.string
        default:
            guard let (operation, options) = method.comparison else { return false }
            let comparison = Comparison(.selfObject, operation, .selfObject, options: options)
            do { return try compare(BorrowedValue(left), right, comparison) } catch let error as CoreError {
                throw error.with(entity: nil, key: selector)
            }
        }
    }

    /// Whether a function of the application or a built-in method has the name.
    private func isKnown(_ name: String) -> Bool {
        FunctionRegistry.function(named: name) != nil || Message(rawValue: name) != nil
            || ComparisonMethod(rawValue: name) != nil
    }

    private func value(of message: Message, _ receiver: PropertyValue, _ arguments: [PropertyValue]) throws
        -> PropertyValue?
    {
        let argument = arguments[0]
        switch (message, receiver, argument) {
        case (.appending, .text(let text), .text(let tail)): return .string(text.string + tail.string)
        case (.joined, .array(let parts), .text(let separator)):
            return .string(parts.map { $0.plainText }.joined(separator: separator.string))
        case (.objectAt, _, _): return try element(at: argument, of: receiver)
        case (.objectForKey, .dictionary(let values), .text(let key)): return values[key.string] ?? .null
        case (.valueForKey, _, .text(let key)), (.valueForKeyPath, _, .text(let key)):
            return try KeyPathEvaluation.value(
                of: receiver, path: message == .valueForKey ? KeyPath(keys: [KeyName(key.string)]) : KeyPath(key.string)
            )
        case (.addingInterval, .date(let start), _): return argument.number.map { .date(start + $0) }
        case (.intervalSince, .date(let end), .date(let start)): return .double(end - start)
        default: return nil
        }
    }

    private func unknown(_ name: String, of receiver: PropertyValue) -> CoreError {
        if Message(rawValue: name) != nil {
            return predicateError(
                "the function \"\(name)\" is not defined as an operator; call it with FUNCTION(receiver, \"\(name)\", "
                    + "argument)", key: name, value: receiver)
        }
        let own: [String] =
            if case .object(let object as any MessageReceiver) = receiver { object.selectors } else { [] }
        // A key of a plain value can be called without arguments, so its name does not have a colon.
        let keys = name.utf8.contains(UInt8(ascii: ":")) ? [] : receiver.knownKeys
        let known =
            own + keys + FunctionRegistry.names + Message.allCases.map(\.rawValue)
            + ComparisonMethod.allCases.map(\.rawValue)
        let near = nearestName(to: name, among: known.filter { $0 != name }).map { "; did you mean \"\($0)\"?" } ?? ""
        let remedy =
            near.isEmpty
            ? "; register it with cst_function_register (register_function, FunctionRegistry.register)" : near
        return predicateError(
            "the function \"\(name)\" is not defined for \(receiver.kind)\(remedy)", key: name, value: receiver)
    }
}

/// The built-in methods with one argument, except comparisons.
private enum Message: String, CaseIterable {
    case appending = "stringByAppendingString:"
    case joined = "componentsJoinedByString:"
    case objectAt = "objectAtIndex:"
    case objectForKey = "objectForKey:"
    case valueForKey = "valueForKey:"
    case valueForKeyPath = "valueForKeyPath:"
    case addingInterval = "dateByAddingTimeInterval:"
    case intervalSince = "timeIntervalSinceDate:"

    /// The types of the receiver and the argument, for an error message.
    var operands: String {
        switch self {
        case .appending: "two strings"
        case .joined: "a list and a string"
        case .objectAt: "a list and an integer"
        case .objectForKey: "a dictionary and a string"
        case .valueForKey, .valueForKeyPath: "any value and a string"
        case .addingInterval: "a date and a number"
        case .intervalSince: "two dates"
        }
    }
}

/// The built-in methods for comparisons, which can also be used as custom operators.
private enum ComparisonMethod: String, CaseIterable {
    case isKind = "isKindOfClass:"
    case isMember = "isMemberOfClass:"
    case equal = "isEqual:"
    case equalTo = "isEqualTo:"
    case notEqualTo = "isNotEqualTo:"
    case equalToString = "isEqualToString:"
    case equalToNumber = "isEqualToNumber:"
    case equalToDate = "isEqualToDate:"
    case lessThan = "isLessThan:"
    case lessThanOrEqualTo = "isLessThanOrEqualTo:"
    case greaterThan = "isGreaterThan:"
    case greaterThanOrEqualTo = "isGreaterThanOrEqualTo:"
    case contains = "doesContain:"
    case containsObject = "containsObject:"
    case containsString = "containsString:"
    case localizedContains = "localizedCaseInsensitiveContainsString:"
    case localizedStandardContains = "localizedStandardContainsString:"
    case hasPrefix = "hasPrefix:"
    case hasSuffix = "hasSuffix:"
    case like = "isLike:"
    case caseInsensitiveLike = "isCaseInsensitiveLike:"

    /// The equivalent operator and its options; nil for the tests of classes.
    var comparison: (Comparison.Operator, Comparison.Options)? {
        switch self {
        case .isKind, .isMember: nil
        case .equal, .equalTo, .equalToString, .equalToNumber, .equalToDate: (.equal, [])
        case .notEqualTo: (.notEqual, [])
        case .lessThan: (.less, [])
        case .lessThanOrEqualTo: (.lessOrEqual, [])
        case .greaterThan: (.greater, [])
        case .greaterThanOrEqualTo: (.greaterOrEqual, [])
        case .contains, .containsObject, .containsString: (.contains, [])
        case .localizedContains: (.contains, [.caseInsensitive])
        case .localizedStandardContains: (.contains, [.caseInsensitive, .diacriticInsensitive])
        case .hasPrefix: (.beginsWith, [])
        case .hasSuffix: (.endsWith, [])
        case .like: (.like, [])
        case .caseInsensitiveLike: (.like, [.caseInsensitive])
        }
    }
}

extension PropertyValue {
    /// The names of the value's class and superclasses, nearest first; for plain values, those in Foundation.
    fileprivate var classNames: [String] {
        switch self {
        case .null: ["NSNull", "NSObject"]
        case .bool, .int, .double: ["NSNumber", "NSValue", "NSObject"]
        case .decimal: ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"]
        case .text: ["NSString", "NSObject"]
        case .bytes: ["NSData", "NSObject"]
        case .date: ["NSDate", "NSObject"]
        case .uuid: ["NSUUID", "NSObject"]
        case .uri: ["NSURL", "NSObject"]
        case .array: ["NSArray", "NSObject"]
        case .set: ["NSSet", "NSObject"]
        case .dictionary: ["NSDictionary", "NSObject"]
        case .object(let object): ((object as? any KeyValueCoding)?.classNames ?? []) + ["NSObject"]
        }
    }

    /// The text of a string or URI; for other values, the text that messages show.
    var plainText: String { textual?.string ?? literal(.message) }
}
