import CorestoneValues

/// Builds an archive in the layout of NSKeyedArchiver: a flat list of objects that refer to each other by number.
///
/// Objects get their number before their content, so that they can refer to each other in circles.
package final class KeyedArchiver {
    /// A class of the archive with those that it inherits from, itself first.
    package struct ClassName {
        let chain: [String]

        package init(_ chain: String...) { self.init(chain) }
        init(_ chain: [String]) { self.init(whole: chain + ["NSObject"]) }
        /// With the root of all classes, whatever that is.
        init(whole chain: [String]) { self.chain = chain }
    }

    package static let null = PropertyListValue.uid(0)

    private var objects: [PropertyListValue] = [.string("$null")]
    private var strings: [Text: UInt32] = [:]
    private var classes: [String: UInt32] = [:]
    /// What has been added of the predicate or expression that is being archived.
    private var parts = 0

    package init() {}

    /// A number for an object whose content follows by `fill`.
    func reserve() -> UInt32 {
        objects.append(.null)
        return UInt32(objects.count - 1)
    }

    func fill(_ number: UInt32, _ object: PropertyListValue) { objects[Int(number)] = object }

    func fill(_ number: UInt32, _ name: ClassName, _ fields: [String: PropertyListValue]) {
        var fields = fields
        fields["$class"] = reference(to: name)
        objects[Int(number)] = .dictionary(fields)
    }

    /// Adds a string, number or data, which an archive holds as it is.
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

    func set(_ values: [PropertyListValue], isMutable: Bool = false) -> PropertyListValue {
        add(isMutable ? ClassName("NSMutableSet", "NSSet") : ClassName("NSSet"), ["NS.objects": .array(values)])
    }

    package func dictionary(
        _ entries: [(key: String, value: PropertyListValue)], isMutable: Bool = false
    ) -> PropertyListValue {
        add(
            isMutable ? ClassName("NSMutableDictionary", "NSDictionary") : ClassName("NSDictionary"),
            ["NS.keys": .array(entries.map { string($0.key) }), "NS.objects": .array(entries.map(\.value))])
    }

    /// Another predicate or expression begins.
    package func startTree() { parts = 0 }

    /// - Throws: `.unsupported` when nobody would read so large a tree.
    func spend(_ amount: Int) throws {
        parts += amount
        guard parts <= ArchivedPredicates.maximumCount else {
            throw CoreError(
                .unsupported,
                "a predicate or expression has more than \(ArchivedPredicates.maximumCount) parts, which is the limit; "
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
    /// A default value as Cocoa's class for it; null for kinds that Cocoa does not archive in a model.
    func value(_ value: PropertyValue) -> PropertyListValue {
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

    /// The mantissa lies there as eight little-endian words of 16 bits, of which `NS.length` are used.
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
