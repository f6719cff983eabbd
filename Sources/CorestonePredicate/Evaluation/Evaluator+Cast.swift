import CorestoneValues

extension Evaluator {
    /// Evaluates `CAST(value, "type")`.
    func cast(_ value: PropertyValue, to type: PropertyValue) throws -> PropertyValue {
        guard case .text(let name) = type else {
            throw predicateError("CAST takes the name of a type as a string, not \(type.excerpt)", value: type)
        }
        if value.isNull { return .null }
        switch name.string {
        case "NSDate":
            if case .date = value { return value }
            if let seconds = value.number { return .date(seconds) }
        case "NSNumber":
            if value.number != nil { return value }
            if case .date(let seconds) = value { return .double(seconds) }
            if case .text(let text) = value {
                if let integer = Int64(text.string) { return .int(integer) }
                if let real = Double(text.string) { return .double(real) }
            }
        case "NSDecimalNumber":
            switch value {
            case .decimal: return value
            case .int(let number): return .decimal(DecimalNumber(number))
            case .bool(let flag): return .decimal(DecimalNumber(flag ? 1 : 0))
            case .double(let number): if let decimal = DecimalNumber(number) { return .decimal(decimal) }
            case .text(let text): if let number = try? DecimalNumber(text.string) { return .decimal(number) }
            default: break
            }
        case "NSString":
            return .string(value.plainText)
        case "Class":
            // A class is represented by its name, which isKindOfClass: compares.
            if case .text = value { return value }
        case "NSUUID", "NSURL", "NSData", "NSSet", "NSDictionary":
            if let constant = value.constant(castTo: name.string) { return constant }
        default:
            throw predicateError(
                "CAST does not support the type \"\(name)\"; use NSDate, NSNumber, NSDecimalNumber, NSString, NSUUID, NSURL, "
                    + "NSData, NSSet, NSDictionary or Class", value: type)
        }
        let form = missingForm(of: value, for: name.string)
        throw predicateError(
            "\(value.excerpt) is \(form ?? value.kind) and cannot be cast to \(name)"
                + (form == nil ? ", which takes \(castable(to: name.string))" : ""), value: value)
    }

    /// Returns the clause of an error message that says why this value cannot be cast.
    ///
    /// Returns nil if no value of its type can be cast.
    private func missingForm(of value: PropertyValue, for type: String) -> String? {
        switch (type, value) {
        case ("NSDecimalNumber", .text(let text)) where isDecimal(text.string): "not in the range of decimal numbers"
        case ("NSNumber", .text), ("NSDecimalNumber", .text): "not the text of a number"
        case ("NSDecimalNumber", .double): "not in the range of decimal numbers"
        case ("NSUUID", .text): "not the text of a UUID"
        case ("NSData", .text): "not an even number of hexadecimal digits"
        case ("NSDictionary", .array): "not a list of pairs {key, value} with a string as the key"
        case ("NSUUID", .uuid), ("NSURL", .uri), ("NSData", .bytes), ("NSSet", .set), ("NSDictionary", .dictionary):
            "already \(value.kind)"
        default: nil
        }
    }

    /// Whether a text is a number in decimal digits, of any size.
    private func isDecimal(_ text: String) -> Bool {
        Double(text) != nil && text.utf8.allSatisfy { "+-.0123456789Ee".utf8.contains($0) }
    }

    /// Returns the values that can be cast to the type, for an error message.
    private func castable(to type: String) -> String {
        switch type {
        case "NSDate": "a number of seconds since 2001-01-01 UTC"
        case "NSNumber": "a number, a date or the text of a number"
        case "NSDecimalNumber": "a number or the text of a number"
        case "NSUUID": "the text of a UUID"
        case "NSData": "a string of hexadecimal digits"
        case "NSSet": "a list"
        case "NSDictionary": "a list of pairs {key, value}"
        default: "a string"
        }
    }
}
