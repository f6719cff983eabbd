import CorestonePredicate
import CorestoneValues

/// A text that is parsed as a predicate is formatted, and its format is parsed again.
func readPredicate(_ bytes: [UInt8]) throws {
    let arguments: [PropertyValue] = [.int(3), .string("name"), .array([.int(1)]), .double(0.5), .string("x")]
    let predicate = try Predicate.parse(utf8: bytes, arguments: arguments)
    let printed = predicate.format
    _ = predicate.keyPaths
    _ = predicate.freeVariables
    _ = try predicate.substituting(["x": .int(1)])
    guard let again = try? Predicate.parse(printed) else { return }
    if again.format != printed, (try? Predicate.parse(again.format))?.format != again.format {
        fatalError("\(printed) is printed as \(again.format)")
    }
}

/// A text that is parsed as a predicate is evaluated on a value with every kind of content, by both arithmetic rules.
func evaluatePredicate(_ bytes: [UInt8]) throws {
    let predicate = try Predicate.parse(utf8: bytes, arguments: [.int(3), .string("name"), richValue])
    for rule in [ArithmeticRule.strict, .nilPropagating] {
        _ = try? predicate.evaluate(
            with: richValue, variables: ["x": .int(7), "k": .string("name"), "list": .array([.int(1), .null])],
            arithmetic: rule)
    }
}

private let richValue: PropertyValue = {
    let child: [String: PropertyValue] = [
        "name": .string("Zoë"), "age": .int(41), "price": .decimal(DecimalNumber(mantissa: 1999, exponent: -2)),
        "tags": .array([.string("a"), .string("b")]), "nothing": .null,
    ]
    return .dictionary(
        child.merging([
            "list": .array([.int(3), .int(1), .double(2.5), .null]), "texts": .array([.string("one"), .string("two")]),
            "items": .array([.dictionary(child), .dictionary(["name": .string("b"), "age": .int(.max)])]),
            "set": .set([.int(1), .string("x")]), "child": .dictionary(child), "date": .date(1e300), "when": .date(7e8),
            "data": .bytes(Bytes([0, 255])), "uuid": .uuid(UUIDValue(high: 1, low: 2)), "big": .int(.min),
            "huge": .double(1e308), "flag": .bool(true), "uri": .uri(Text("https://example.org")),
            "text": .string("Straße 10, café 😀\nline"), "here": .array([.double(48), .double(11)]),
        ]) { own, _ in own })
}()
