import Corestone

/// The conversion of values from files to values of attributes.
enum LoadConversion {
    /// Returns the value for an attribute.
    ///
    /// - Returns: nil to leave the attribute unchanged, for an empty field of a required attribute.
    static func value(_ field: LoadField, for attribute: Attribute) throws -> PropertyValue? {
        switch field {
        case .text(nil): return attribute.isOptional ? .null : nil
        case .text(let text?): return try value(.string(text), attribute, isTable: true)
        case .value(.null): return .null
        case .value(let value): return try self.value(value, attribute, isTable: false)
        }
    }

    private static func value(_ value: PropertyValue, _ attribute: Attribute, isTable: Bool) throws -> PropertyValue {
        switch (attribute.type, value) {
        case (.date, .text(let text)):
            if let seconds = seconds(text.string, isTable) { return .date(seconds) }
            if !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
                throw CoreError(
                    .typeMismatch,
                    "\(attribute.entity.name).\(attribute.path): \"\(LineText.short(text.string))\" is ambiguous: a date or seconds; "
                        + "write a date as 2024-01-31, or seconds since 2001 as "
                        + (isTable ? "\(LineText.short(text.string)).0" : "a number without quotes"),
                    entity: attribute.entity.name, key: attribute.path, value: value)
            }
            do { return .date(try ReferenceDate.parse(text.string, assumingUTC: true)) } catch let error as CoreError {
                throw CoreError(
                    .typeMismatch, "\(attribute.entity.name).\(attribute.path): \(error.message)",
                    entity: attribute.entity.name, key: attribute.path, value: value)
            }
        case (.boolean, .text(let text)):
            let known = ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false]
            if let flag = known[text.string.lowercased()] { return .bool(flag) }
            return try attribute.converted(value)
        case (.double, .text(let text)), (.float, .text(let text)):
            guard !text.string.utf8.contains(where: { $0 == 0x78 || $0 == 0x58 }) else {
                throw CoreError(
                    .typeMismatch,
                    "\(attribute.entity.name).\(attribute.path): \"\(LineText.short(text.string))\" is not a decimal number; write a "
                        + "number such as 16 or 1.5e3",
                    entity: attribute.entity.name, key: attribute.path, value: value)
            }
            let known = ["NaN": Double.nan, "Infinity": Double.infinity, "-Infinity": -Double.infinity]
            return try attribute.accept(known[text.string].map { .double($0) } ?? attribute.converted(value))
        default: return try attribute.converted(value)
        }
    }

    /// Parses seconds since 2001, which `dump` writes for dates that ISO 8601 cannot represent exactly.
    ///
    /// In a table, seconds need a point or an exponent, so that 2024 and 20240131 are not mistaken for seconds. In
    /// JSON, seconds are numbers, except for the words for NaN and infinity.
    private static func seconds(_ text: String, _ isTable: Bool) -> Double? {
        switch text {
        case "NaN", "nan": return .nan
        case "Infinity", "inf": return .infinity
        case "-Infinity", "-inf": return -.infinity
        default:
            let marks = [UInt8]("+-.eE".utf8)
            guard isTable, text.utf8.contains(where: { ".eE".utf8.contains($0) }),
                text.utf8.allSatisfy({ 0x30...0x39 ~= $0 || marks.contains($0) })
            else { return nil }
            return Double(text)
        }
    }
}

extension CoreError {
    /// The message with the entity, the key and the value, unless it already contains them.
    var lineMessage: String {
        var words = message
        if let value, let text = value.plainText {
            let short = LineText.short(text)
            if !words.utf8.elementsEqual(short.utf8), !LineText.contains(words, short) {
                let problem = words.withoutRemedy
                let remedy = String(Substring(words.utf8.dropFirst(problem.utf8.count)))
                words = "\(problem) (the value is \(value.excerpt))\(remedy)"
            }
        }
        if let entity, let key, !LineText.contains(words, key) { words = "\(entity).\(key): \(words)" }
        return words.visible()
    }

    /// The leaves of the tree of errors.
    var leaves: [CoreError] { children.isEmpty ? [self] : children.flatMap(\.leaves) }
}

enum LineText {
    /// Returns the text, truncated if it is long.
    static func short(_ text: String) -> String { text.count > 60 ? String(text.prefix(59)) + "…" : text }

    static func contains(_ text: String, _ part: String) -> Bool {
        let (bytes, wanted) = (Array(text.utf8), Array(part.utf8))
        guard !wanted.isEmpty, wanted.count <= bytes.count else { return wanted.isEmpty }
        return (0...bytes.count - wanted.count).contains { place in
            bytes[place] == wanted[0] && bytes[place..<place + wanted.count].elementsEqual(wanted)
        }
    }
}
