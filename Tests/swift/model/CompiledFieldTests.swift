import CorestoneFormats
@testable import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

/// The fields of compiled models that Apple's reader uses, one by one.
final class CompiledFieldTests: XCTestCase {
    /// The fields of the objects of a class, by the value of one of their keys. References to scalars are followed.
    private func objects(
        _ bytes: [UInt8], _ className: String, by key: String = "NSPropertyName"
    ) throws -> [String: [String: PropertyListValue]] {
        let list = try XCTUnwrap(decodePropertyList(bytes).dictionary?["$objects"]?.array)
        var found: [String: [String: PropertyListValue]] = [:]
        for case .dictionary(let fields) in list {
            guard let kind = fields["$class"]?.reference,
                list[Int(kind)].dictionary?["$classname"] == .string(className)
            else { continue }
            let values = fields.mapValues { value -> PropertyListValue in
                guard let number = value.reference, list[Int(number)].dictionary == nil else { return value }
                return number == 0 ? .null : list[Int(number)]
            }
            found[values[key]?.string ?? ""] = values
        }
        return found
    }

    /// Also with the values of keys that are the same for all left out.
    private func compiled(_ form: CompiledModelForm = .file, _ build: (Model, Entity) throws -> Void) throws -> [UInt8]
    {
        let model = Model()
        try build(model, try model.addEntity(named: "E"))
        return try compiledModel(model, form: form)
    }

    func testPropertyFlagsAreSummedUp() throws {
        let cases: [(String, Int64, [String], (Attribute) throws -> Void)] = [
            ("plain", 0b1111_0001, [], { _ in }),
            ("optional", 0b1111_0011, ["NSIsOptional"], { try $0.setOptional(true) }),
            ("transient", 0b1111_1001, ["NSIsTransient"], { try $0.setTransient(true) }),
            (
                "derived", 0b1111_0101, ["NSDerivationExpression", "NSFilteringPredicate", "NSIsReadOnly"],
                { try $0.setDerivation(Derivation(ExpressionText("now()"))) }
            ),
            ("spotlight", 0b1_1111_0001, ["NSIndexedBySpotlight"], { try $0.setIndexedBySpotlight(true) }),
            (
                "ruled", 0b1100_0001, ["NSValidationPredicates", "NSValidationWarnings"],
                { try $0.addValidation(PredicateText("SELF != nil"), warning: "w") }
            ), ("info", 0b1011_0001, ["NSUserInfo"], { try $0.setUserInfo("v", forKey: "k") }),
            ("modifier", 0b0111_0001, ["NSVersionHashModifier"], { try $0.setVersionHashModifier("m") }),
        ]
        for (name, flags, keys, change) in cases {
            let bytes = try compiled { try change(try $1.addAttribute(named: "a", type: .string, isOptional: false)) }
            let kind = name == "derived" ? "NSDerivedAttributeDescription" : "NSAttributeDescription"
            let fields = try XCTUnwrap(objects(bytes, kind)["a"])
            XCTAssertEqual(fields["_P"], .integer(flags), name)
            let common: Set = [
                "$class", "_P", "NSPropertyName", "NSEntity", "NSRenamingIdentifier", "NSAttributeType",
                "NSAttributeValueClassName", "NSDefaultValue", "NSValueTransformerName", "NSFlagsKey",
            ]
            XCTAssertEqual(Set(fields.keys).subtracting(common).sorted(), keys.sorted(), name)
        }
    }

    func testRelationshipsAndFetchedPropertiesHaveAppleFields() throws {
        let bytes = try compiled { _, entity in
            let many = try entity.addRelationship(
                named: "many", destination: entity, isToMany: true, isOptional: false, isOrdered: true)
            try many.setCounts(minimum: 0, maximum: .max)
            try many.setDeleteRule(.deny)
            try many.setRenamingIdentifier("former")
            try many.setInverse(try entity.addRelationship(named: "one", destination: entity))
            try entity.addFetchedProperty(
                named: "f", fetchRequest: FetchRequestTemplate(entityName: "E"), isOptional: false)
        }
        let relationships = try objects(bytes, "NSRelationshipDescription")
        let (many, one) = (try XCTUnwrap(relationships["many"]), try XCTUnwrap(relationships["one"]))
        XCTAssertEqual([many["_P"], one["_P"]], [.integer(0b100_1111_0001), .integer(0b1111_0011)])
        XCTAssertEqual([many["NSMinCount"], many["NSMaxCount"]], [.integer(0), .integer(-1)])
        XCTAssertEqual([one["NSMinCount"], one["NSMaxCount"]], [.integer(0), .integer(1)])
        XCTAssertEqual([many["NSDeleteRule"], one["NSDeleteRule"]], [.integer(3), .integer(1)])
        XCTAssertEqual([many["NSIsOrdered"], one["NSIsOrdered"]], [.bool(true), nil])
        XCTAssertEqual(many["_NSDestinationEntityName"], .string("E"))
        XCTAssertEqual(
            [many["_NSInverseRelationshipName"], one["_NSInverseRelationshipName"]], [.string("one"), .string("many")])
        XCTAssertEqual(
            [many["NSRenamingIdentifier"], one["NSRenamingIdentifier"]], [.string("former"), .string("one")])
        let fetched = try XCTUnwrap(objects(bytes, "NSFetchedPropertyDescription")["f"])
        XCTAssertEqual(fetched["_P"], .integer(0b1111_1101))
        XCTAssertEqual(
            [fetched["NSIsTransient"], fetched["NSIsReadOnly"], fetched["NSIsOptional"]],
            [.bool(true), .bool(true), nil])
        XCTAssertEqual(fetched["_NSFetchRequestEntityName"], .string("E"))
    }

    func testEntitiesHaveAppleFields() throws {
        let bytes = try compiled { model, entity in
            let child = try model.addEntity(named: "Child")
            try child.setParent(entity)
            try child.setAbstract(true)
            try child.setClassName("App.Child")
            try child.setRenamingIdentifier("Former")
            try child.setVersionHashModifier("m")
            try child.addAttribute(named: "a", type: .string)
            try child.addAttribute(named: "b", type: .string)
            try child.addIndex(FetchIndex(name: "i", elements: [.init(property: "a")]))
            try child.addIndex(FetchIndex(name: "j", elements: [.init(property: "b", isAscending: false)]))
            try child.addUniqueConstraint(["a"])
        }
        let entities = try objects(bytes, "NSEntityDescription", by: "NSEntityName")
        let (plain, child) = (try XCTUnwrap(entities["E"]), try XCTUnwrap(entities["Child"]))
        XCTAssertEqual([plain["NSIsAbstract"], child["NSIsAbstract"]], [nil, .bool(true)])
        XCTAssertEqual([plain["NSClassNameForEntity"], child["NSClassNameForEntity"]], [.null, .string("App.Child")])
        XCTAssertEqual(
            [plain["NSRenamingIdentifier"], child["NSRenamingIdentifier"]], [.string("E"), .string("Former")])
        XCTAssertEqual([plain["NSVersionHashModifier"], child["NSVersionHashModifier"]], [.null, .string("m")])
        for key in ["NSUniqueTuples", "NSFetchIndexDescriptions", "NSCompoundIndexes"] {
            XCTAssertNil(plain[key], key)
            XCTAssertNotNil(child[key], key)
        }
        let attributes = try objects(bytes, "NSAttributeDescription")
        XCTAssertEqual(
            ["a", "b"].map { attributes[$0]?["NSIsIndexed"] }, [.bool(true), nil], "what an index has alone, ascending")
    }

    func testFileListsDeclaredAndCacheListsInheritedProperties() throws {
        for (form, count) in [(CompiledModelForm.file, 1), (.cache, 2)] {
            let bytes = try compiled(form) { model, entity in
                try entity.addAttribute(named: "a", type: .string)
                try model.addEntity(named: "Child").setParent(entity)
            }
            let list = try XCTUnwrap(decodePropertyList(bytes).dictionary?["$objects"]?.array)
            XCTAssertEqual(list.filter { $0.dictionary?["NSAttributeType"] != nil }.count, count)
            XCTAssertEqual(
                list.contains { $0.dictionary?["$classname"] == .string("NSKnownKeysDictionary1") }, form == .cache)
        }
    }

    func testOperatorsHaveTheirArchiveNumbers() {
        let operators: [(Comparison.Operator, Int64)] = [
            (.less, 0), (.lessOrEqual, 1), (.greater, 2), (.greaterOrEqual, 3), (.equal, 4), (.notEqual, 5),
            (.matches, 6), (.like, 7), (.beginsWith, 8), (.endsWith, 9), (.in, 10), (.contains, 99), (.between, 100),
        ]
        for (each, number) in operators {
            XCTAssertEqual(each.archiveType, number)
            XCTAssertEqual(Comparison.Operator(archiveType: number, selector: nil), each)
        }
        for each in [Comparison.Operator.custom("x:"), .tokenMatches, .utiConformsTo, .utiEquals] {
            XCTAssertEqual(each.archiveType, 11)
            XCTAssertEqual(Comparison.Operator(archiveType: 11, selector: each.symbol), each)
        }
        XCTAssertNil(Comparison.Operator(archiveType: 11, selector: nil))
        XCTAssertNil(Comparison.Operator(archiveType: 12, selector: "x:"))
        let modifiers: [(Comparison.Modifier, Int64)] = [(.direct, 0), (.all, 1), (.any, 2)]
        for (each, number) in modifiers {
            XCTAssertEqual(each.archiveValue, number)
            XCTAssertEqual(Comparison.Modifier(archiveValue: number), each)
        }
        XCTAssertNil(Comparison.Modifier(archiveValue: 3))
    }

    func testOperatorsHaveAppleClassesAndFields() throws {
        let cases: [(String, String, [String: PropertyListValue])] = [
            ("a < 1", "NSComparisonPredicateOperator", ["NSVariant": .integer(0), "NSOptions": .integer(0)]),
            ("a >= 1", "NSComparisonPredicateOperator", ["NSVariant": .integer(3), "NSOptions": .integer(0)]),
            ("a ==[c] 'x'", "NSEqualityPredicateOperator", ["NSNegate": .bool(false), "NSOptions": .integer(1)]),
            ("ALL a != 1", "NSEqualityPredicateOperator", ["NSNegate": .bool(true), "NSOptions": .integer(0)]),
            ("a IN {1}", "NSInPredicateOperator", ["NSFlags": .integer(0)]),
            ("a CONTAINS[d] 'x'", "NSInPredicateOperator", ["NSFlags": .integer(2)]),
            (
                "a BEGINSWITH[cd] 'x'", "NSSubstringPredicateOperator",
                ["NSPosition": .integer(0), "NSFlags": .integer(3)]
            ),
            (
                "ANY a ENDSWITH 'x'", "NSSubstringPredicateOperator",
                ["NSPosition": .integer(1), "NSFlags": .integer(0)]
            ),
            ("a LIKE 'x'", "NSLikePredicateOperator", ["NSFlags": .integer(0)]),
            ("a MATCHES 'x'", "NSMatchingPredicateOperator", ["NSFlags": .integer(0)]),
            ("a BETWEEN {1, 2}", "NSBetweenPredicateOperator", [:]),
        ]
        for (text, className, expected) in cases {
            let predicate = try Predicate.parse(text)
            guard case .comparison(let comparison) = predicate else { return XCTFail(text) }
            let archiver = KeyedArchiver()
            let bytes = archiver.encoded(root: try archiver.predicate(predicate))
            var fields = try XCTUnwrap(objects(bytes, className, by: "none")[""], text)
            fields["$class"] = nil
            let common: [String: PropertyListValue] = [
                "NSOperatorType": .integer(comparison.operator.archiveType),
                "NSModifier": .integer(comparison.modifier.archiveValue),
            ]
            XCTAssertEqual(fields, expected.merging(common) { old, _ in old }, text)
        }
    }

    // MARK: - Columns and derivations

    func testExpressionColumnConvertsValuesToItsType() throws {
        let (uuid, bytes) = (UUIDValue(high: 1, low: 2), PropertyValue.bytes(Bytes([1, 171])))
        let cases: [(AttributeType, PropertyValue, PropertyValue?)] = [
            (.undefined, .double(1.5), .double(1.5)), (.integer16, .double(-1.9), .int(-1)),
            (.integer16, .int(32_767), .int(32_767)),
            (.integer16, .int(32_768), nil), (.integer16, .int(-32_769), nil),
            (.integer32, .int(2_147_483_647), .int(2_147_483_647)),
            (.integer32, .int(2_147_483_648), nil), (.integer64, .decimal(DecimalNumber(Int64(5))), .int(5)),
            (.integer64, .string("5"), nil), (.double, .int(3), .double(3)),
            (.float, .double(0.1), .double(Double(Float(0.1)))),
            (.boolean, .int(0), .bool(false)), (.boolean, .double(2), .bool(true)),
            (.boolean, .bool(true), .bool(true)),
            (.boolean, .string("x"), nil), (.double, .string("x"), nil), (.string, .int(3), .string("3")),
            (.decimal, .int(3), .decimal(DecimalNumber(Int64(3)))), (.date, .null, .null), (.uuid, .null, .null),
            (.uuid, .uuid(uuid), .uuid(uuid)), (.uuid, .string(uuid.description), .uuid(uuid)),
            (.uuid, .string("x"), nil), (.uuid, .int(1), nil), (.uri, .uri("a:b"), .uri("a:b")),
            (.uri, .string("a:b"), .uri("a:b")), (.uri, .uuid(uuid), nil), (.binary, bytes, bytes),
            (.binary, .string("01AB"), bytes), (.binary, .string("1"), nil), (.binary, .double(1), nil),
            (.objectID, .int(1), nil), (.transformable, .int(1), .int(1)), (.composite, bytes, bytes),
        ]
        for (type, value, result) in cases {
            let column = ExpressionDescription(name: "c", expression: .key("a"), resultType: type)
            if let result {
                XCTAssertEqual(try column.typed(value), result, "\(type) \(value)")
            } else {
                XCTAssertThrowsError(try column.typed(value), "\(type) \(value)") {
                    let error = $0 as? CoreError
                    XCTAssertEqual(error?.status, .typeMismatch)
                    XCTAssertEqual(error?.key, "c")
                    XCTAssertEqual(error?.value, value)
                    let ranges: [AttributeType: String] = [
                        .integer16: ", which is not in the range -32768 to 32767",
                        .integer32: ", which is not in the range -2147483648 to 2147483647",
                    ]
                    let forms: [AttributeType: String] = [
                        .uuid: "which is not the text of a UUID",
                        .binary: "which is not an even number of hexadecimal digits",
                    ]
                    let form = if case .text = value { forms[type] } else { String?.none }
                    XCTAssertEqual(
                        error?.message,
                        "the column \"c\" has the type \(type.displayName), but its expression returns "
                            + (form.map { "\(value.excerpt), \($0)" } ?? value.kindPhrase + (ranges[type] ?? "")))
                }
            }
        }
        XCTAssertEqual(ExpressionDescription(name: "c", expression: .key("a")).resultType, .undefined)
    }

    func testDerivationObstaclesAreReported() throws {
        let model = Model()
        let (entity, base) = (try model.addEntity(named: "E"), try model.addEntity(named: "Base"))
        try entity.setParent(base)
        try base.addAttribute(named: "name", type: .string)
        try entity.addRelationship(named: "items", destination: base, isToMany: true)
        let derived = try entity.addAttribute(named: "d", type: .string)
        XCTAssertNil(derived.derivationObstacle, "the attribute is not derived")
        try model.freeze()
        for (text, filter, obstacle) in [
            ("name", nil, nil), ("items.name", nil, nil), ("items.@count", nil, nil), ("items", "name != nil", nil),
            ("nmae", nil, "which refers to the unknown property \"nmae\" of E; did you mean \"name\"?"),
            ("items.zzzzzz", nil, "which refers to the unknown property \"zzzzzz\" of Base"),
            (
                "items.@sum.name", nil,
                "whose operator @sum must be the last component of its key path, as in items.name.@sum"
            ),
        ] as [(String, String?, String?)] {
            let copy = try model.copy()
            let attribute = try XCTUnwrap(try copy.requireEntity(named: "E").ownProperty(named: "d") as? Attribute)
            try attribute.setDerivation(
                Derivation(ExpressionText(text), filter: filter.map { PredicateText($0) }))
            try copy.freeze()
            XCTAssertEqual(attribute.derivationObstacle, obstacle, text)
        }
        let copy = try model.copy()
        let attribute = try XCTUnwrap(try copy.requireEntity(named: "E").ownProperty(named: "d") as? Attribute)
        for (derivation, obstacle) in [
            (Derivation(ExpressionText("((")), "which cannot be read: "),
            (Derivation(ExpressionText("name"), filter: PredicateText("((")), "with a filter that cannot be read: "),
        ] {
            try attribute.setDerivation(derivation)
            XCTAssertEqual(attribute.derivationObstacle?.hasPrefix(obstacle), true)
        }
        XCTAssertThrowsError(try attribute.readingDerivation { throw CoreError(.predicate, "why", value: .int(1)) }) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.message, "E.d cannot be derived: why")
            XCTAssertEqual([error?.entity, error?.key], ["E", "d"])
            XCTAssertEqual(error?.status, .predicate)
            XCTAssertEqual(error?.value, .int(1))
        }
    }
}
