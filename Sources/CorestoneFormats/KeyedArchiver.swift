import CorestoneValues

/// A builder of archives in the layout of NSKeyedArchiver.
///
/// An archive is a flat list of objects that refer to each other by number.
///
/// A number is assigned to an object before its content is set, so that objects can refer to each other in cycles.
package final class KeyedArchiver {
    /// A class of the archive and its superclasses, beginning with the class itself.
    package struct ClassName {
        package let chain: [String]

        package init(_ chain: String...) { self.init(chain) }
        package init(_ chain: [String]) { self.init(whole: chain + ["NSObject"]) }
        /// Creates a chain that includes its root class.
        package init(whole chain: [String]) { self.chain = chain }
    }

    package static let null = PropertyListValue.uid(0)

    private var objects: [PropertyListValue] = [.string("$null")]
    private var strings: [Text: UInt32] = [:]
    private var classes: [String: UInt32] = [:]
    /// The number of parts of the current predicate or expression.
    private var parts = 0
    /// The maximum number of parts of a predicate or expression that readers accept.
    package static let maximumParts = 10_000

    package init() {}

    /// Reserves a number for an object whose content `fill` sets later.
    package func reserve() -> UInt32 {
        objects.append(.null)
        return UInt32(objects.count - 1)
    }

    package func fill(_ number: UInt32, _ object: PropertyListValue) { objects[Int(number)] = object }

    package func fill(_ number: UInt32, _ name: ClassName, _ fields: [String: PropertyListValue]) {
        var fields = fields
        fields["$class"] = reference(to: name)
        objects[Int(number)] = .dictionary(fields)
    }

    /// Adds a string, number or data, which archives store directly.
    package func add(_ value: PropertyListValue) -> PropertyListValue {
        objects.append(value)
        return .uid(UInt32(objects.count - 1))
    }

    package func add(_ name: ClassName, _ fields: [String: PropertyListValue]) -> PropertyListValue {
        let number = reserve()
        fill(number, name, fields)
        return .uid(number)
    }

    package func string(_ string: String?) -> PropertyListValue {
        guard let string else { return KeyedArchiver.null }
        let text = Text(string)
        if let number = strings[text] { return .uid(number) }
        let reference = add(.string(string))
        strings[text] = UInt32(objects.count - 1)
        return reference
    }

    package func array(_ values: [PropertyListValue], isMutable: Bool = false) -> PropertyListValue {
        add(isMutable ? ClassName("NSMutableArray", "NSArray") : ClassName("NSArray"), ["NS.objects": .array(values)])
    }

    package func set(_ values: [PropertyListValue], isMutable: Bool = false) -> PropertyListValue {
        add(isMutable ? ClassName("NSMutableSet", "NSSet") : ClassName("NSSet"), ["NS.objects": .array(values)])
    }

    package func dictionary(
        _ entries: [(key: String, value: PropertyListValue)], isMutable: Bool = false
    ) -> PropertyListValue {
        add(
            isMutable ? ClassName("NSMutableDictionary", "NSDictionary") : ClassName("NSDictionary"),
            ["NS.keys": .array(entries.map { string($0.key) }), "NS.objects": .array(entries.map(\.value))])
    }

    /// Resets the count of parts for a new predicate or expression.
    package func startTree() { parts = 0 }

    /// Counts parts of the current predicate or expression.
    ///
    /// - Throws: `.unsupported` if the tree exceeds the limit of readers.
    package func spend(_ amount: Int) throws {
        parts += amount
        guard parts <= KeyedArchiver.maximumParts else {
            throw CoreError(
                .unsupported,
                "a predicate or expression has more than \(KeyedArchiver.maximumParts) parts, which is the limit; "
                    + "simplify it (in a fetch request, a $variable can replace a long list)")
        }
    }

    private func reference(to name: ClassName) -> PropertyListValue {
        if let number = classes[name.chain[0]] { return .uid(number) }
        let description = PropertyListValue.dictionary([
            "$classname": .string(name.chain[0]), "$classes": .array(name.chain.map { .string($0) }),
        ])
        let reference = add(description)
        classes[name.chain[0]] = UInt32(objects.count - 1)
        return reference
    }

    /// Returns the archive as a binary property list.
    package func encoded(root: PropertyListValue) -> [UInt8] {
        encodePropertyList(
            .dictionary([
                "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
                "$top": .dictionary(["root": root]), "$objects": .array(objects),
            ]))
    }
}

// MARK: - Values

extension KeyedArchiver {
    /// Encodes a default value with Cocoa's class for it; null for types that Cocoa does not archive in a model.
    package func value(_ value: PropertyValue) -> PropertyListValue {
        switch value {
        case .null, .object, .array, .set, .dictionary: return KeyedArchiver.null
        case .bool(let flag): return add(.bool(flag))
        case .int(let number): return add(.integer(number))
        case .double(let number): return add(.real(number))
        case .text(let text): return string(text.string)
        case .bytes(let bytes): return add(.data(bytes.array))
        case .date(let seconds): return add(ClassName("NSDate"), ["NS.time": .real(seconds)])
        case .uuid(let uuid): return add(ClassName("NSUUID"), ["NS.uuidbytes": .data(uuid.bytes)])
        case .uri(let uri):
            return add(ClassName("NSURL"), ["NS.base": KeyedArchiver.null, "NS.relative": string(uri.string)])
        case .decimal(let number): return decimal(number)
        }
    }

    /// Encodes a decimal. The mantissa consists of eight little-endian 16-bit words, of which `NS.length` are used.
    private func decimal(_ number: DecimalNumber) -> PropertyListValue {
        let number = number.normalized
        let mantissa = withUnsafeBytes(of: number.mantissa.littleEndian) { Array($0) }
        let words = stride(from: 0, to: 16, by: 2).filter { mantissa[$0] != 0 || mantissa[$0 + 1] != 0 }
        return add(
            ClassName("NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue"),
            [
                "NS.exponent": .integer(Int64(number.exponent)),
                "NS.length": .integer(Int64((words.last ?? -2) / 2 + 1)),
                "NS.negative": .bool(number.isNegative), "NS.compact": .bool(true), "NS.mantissa.bo": .integer(1),
                "NS.mantissa": .data(mantissa),
            ])
    }
}
