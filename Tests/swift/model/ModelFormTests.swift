import CorestonePredicate
import CorestoneValues
import XCTest

@testable import CorestoneModel

/// A model has the same contents in every form: source, compiled file, cache of a store, and copy.
final class ModelFormTests: XCTestCase {
    private enum Form: CaseIterable { case source, file, cache, copy }

    private static let compiled: [Form] = [.file, .cache]

    private func read(_ model: Model, _ form: Form) throws -> Model {
        switch form {
        case .source: try Model(sourceModel: model.source())
        case .file: try Model(compiledModel: compiledModel(model, form: .file))
        case .cache: try Model(compiledModel: compiledModel(model, form: .cache))
        case .copy: try model.copy()
        }
    }

    /// Checks a model with one entity, `E`, read back from each form.
    private func check(
        _ forms: [Form] = Form.allCases, line: UInt = #line, _ build: (Entity) throws -> Void,
        _ look: (Entity, String) throws -> Void
    ) throws {
        let model = Model()
        try build(try model.addEntity(named: "E"))
        for form in forms { try look(try read(model, form).requireEntity(named: "E"), "\(form), line \(line)") }
    }

    private func attribute(_ entity: Entity, _ name: String = "a") throws -> Attribute {
        try XCTUnwrap(entity.ownProperty(named: name) as? Attribute)
    }

    private func relationship(_ entity: Entity, _ name: String = "r") throws -> Relationship {
        try XCTUnwrap(entity.ownProperty(named: name) as? Relationship)
    }

    // MARK: - Attributes

    func testDefaultsOfEveryTypeRoundTrip() throws {
        let float = Double(Float(0.1))
        let defaults: [(AttributeType, [PropertyValue])] = [
            (.integer16, [.int(0), .int(-32_768), .int(32_767)]),
            (.integer32, [.int(0), .int(-2_147_483_648), .int(2_147_483_647)]),
            (.integer64, [.int(0), .int(.min), .int(.max)]),
            (
                .decimal,
                try ["0", "-0.05", "12345678901234567890123456789.5", "1000"].map { .decimal(try DecimalNumber($0)) }
            ),
            (.double, [.double(0), .double(0.1), .double(-1e300), .double(5e-324)]),
            (.float, [.double(0), .double(float), .double(-2.5)]),
            (.string, [.string(""), .string("a\n\t\"<&>' \r"), .string("Zoë 🎉"), .string("$null")]),
            (.boolean, [.bool(true), .bool(false)]),
            (.date, [.date(0), .date(-0.5), .date(600_000_000), .date(1.25)]),
            (.uuid, [.uuid(UUIDValue(high: 1, low: .max))]), (.uri, [.uri(Text("https://example.org/?a=b&c"))]),
        ]
        for (type, values) in defaults {
            for value in values {
                try check {
                    try $0.addAttribute(named: "a", type: type).setDefaultValue(value)
                } _: {
                    let read = try self.attribute($0)
                    XCTAssertEqual(read.type, type, $1)
                    XCTAssertEqual(read.defaultValue, value, "\(type) \($1)")
                    XCTAssertEqual(read.defaultValue.isNull, false)
                }
            }
        }
        // A source cannot represent bytes.
        for bytes in [[], [UInt8](0...255)] {
            try check([.file, .cache, .copy]) {
                try $0.addAttribute(named: "a", type: .binary).setDefaultValue(.bytes(Bytes(bytes)))
            } _: {
                XCTAssertEqual(try self.attribute($0).defaultValue, .bytes(Bytes(bytes)), $1)
            }
        }
    }

    func testEveryTypeWithoutADefaultRoundTrips() throws {
        for type in AttributeType.allCases where type != .composite {
            try check {
                try $0.addAttribute(named: "a", type: type, isTransient: true)
            } _: {
                let read = try self.attribute($0)
                XCTAssertEqual(read.type, type, $1)
                XCTAssertEqual(read.defaultValue, .null, $1)
                XCTAssertNil(read.valueClassName, $1)
            }
        }
    }

    func testAttributeFlagsRoundTrip() throws {
        let flags: [(String, [Form], (Attribute, Bool) throws -> Void, (Attribute) -> Bool)] = [
            ("optional", Form.allCases, { try $0.setOptional($1) }, \.isOptional),
            ("transient", Form.allCases, { try $0.setTransient($1) }, \.isTransient),
            ("spotlight", Form.allCases, { try $0.setIndexedBySpotlight($1) }, \.isIndexedBySpotlight),
            ("external", Form.allCases, { try $0.setAllowsExternalStorage($1) }, \.allowsExternalStorage),
            ("history", Form.allCases, { try $0.setPreservesValueInHistory($1) }, \.preservesValueInHistory),
            ("cloud", [.source, .copy], { try $0.setAllowsCloudEncryption($1) }, \.allowsCloudEncryption),
            ("record", [.source, .copy], { try $0.setStoredInExternalRecord($1) }, \.isStoredInExternalRecord),
            ("NaN", [.copy], { try $0.setAllowsNaN($1) }, \.allowsNaN),
            ("ignored", [.copy], { try $0.setIgnoresChanges($1) }, \.ignoresChanges),
        ]
        for (name, forms, set, get) in flags {
            for flag in [true, false] {
                try check(forms) { entity in
                    let attribute = try entity.addAttribute(named: "a", type: .binary)
                    // All other flags with the opposite value.
                    for (other, _, set, _) in flags where other != name && other != "NaN" { try set(attribute, !flag) }
                    try set(attribute, flag)
                } _: {
                    XCTAssertEqual(get(try self.attribute($0)), flag, "\(name) \(flag) \($1)")
                    for (other, known, _, get) in flags where other != name && other != "NaN" {
                        guard forms.allSatisfy(known.contains) else { continue }
                        XCTAssertEqual(get(try self.attribute($0)), !flag, "\(other) beside \(name) \(flag) \($1)")
                    }
                }
            }
        }
    }

    func testAttributeTextsRoundTrip() throws {
        try check {
            let attribute = try $0.addAttribute(named: "a", type: .transformable)
            try attribute.setVersionHashModifier("m")
            try attribute.setRenamingIdentifier("former")
            try attribute.setValueTransformerName("Secret")
            try attribute.setValueClassName("Box")
            try attribute.setUserInfo("1", forKey: "one")
            try attribute.setUserInfo("", forKey: "two")
            try $0.addAttribute(named: "b", type: .string)
        } _: {
            let (read, plain) = (try self.attribute($0), try self.attribute($0, "b"))
            XCTAssertEqual(read.versionHashModifier, "m", $1)
            XCTAssertEqual(read.renamingIdentifier, "former", $1)
            XCTAssertEqual(read.valueTransformerName, "Secret", $1)
            XCTAssertEqual(read.valueClassName, "Box", $1)
            XCTAssertEqual(read.userInfo, ["one": "1", "two": ""], $1)
            XCTAssertNil(plain.versionHashModifier, $1)
            XCTAssertNil(plain.renamingIdentifier, $1)
            XCTAssertNil(plain.valueTransformerName, $1)
            XCTAssertNil(plain.valueClassName, $1)
            XCTAssertEqual(plain.userInfo, [:], $1)
        }
    }

    func testBoundsOfEveryTypeRoundTrip() throws {
        func decimal(_ text: String) throws -> PropertyValue { .decimal(try DecimalNumber(text)) }
        let bounds: [(AttributeType, PropertyValue, PropertyValue, [Int64])] = [
            (.integer16, .int(-3), .int(5), [1620, 1610]), (.integer32, .int(0), .int(70_000), [1620, 1610]),
            (.integer64, .int(.min), .int(.max), [1620, 1610]),
            (.decimal, try decimal("-0.05"), try decimal("99.99"), [1620, 1610]),
            (.double, .double(0.1), .double(1e10), [1620, 1610]),
            (.float, .double(Double(Float(0.1))), .double(2.5), [1620, 1610]),
            (.date, .date(-1.5), .date(86_400), [1640, 1630]), (.string, .int(2), .int(40), [1670, 1660]),
        ]
        for (type, least, greatest, codes) in bounds {
            for (one, other) in [(least, greatest), (least, nil), (nil, greatest)] as [(PropertyValue?, PropertyValue?)]
            {
                try check {
                    try $0.addAttribute(named: "a", type: type).setBounds(least: one, greatest: other)
                } _: {
                    let read = try self.attribute($0)
                    XCTAssertEqual(read.bounds.least, one, "\(type) \($1)")
                    XCTAssertEqual(read.bounds.greatest, other, "\(type) \($1)")
                    let expected = zip([one, other], codes).compactMap { $0 == nil ? nil : $1 }
                    XCTAssertEqual(
                        read.validationRules.map(\.warning), expected.map { .code($0) }, "\(type) \($1)")
                }
            }
        }
    }

    func testPatternsAndConditionsRoundTrip() throws {
        try check {
            let attribute = try $0.addAttribute(named: "a", type: .string)
            try attribute.setBounds(least: .int(1), greatest: nil)
            try attribute.setPattern("[a-z]+\\.\"&<")
        } _: {
            XCTAssertEqual(
                try self.attribute($0).validationRules,
                [
                    ValidationRule(PredicateText("length >= 1"), warning: .code(1670)),
                    ValidationRule(PredicateText("SELF MATCHES \"[a-z]+\\\\.\\\"&<\""), warning: .code(1680)),
                ], $1)
        }
        try check([.file, .cache, .copy]) {
            let attribute = try $0.addAttribute(named: "a", type: .integer16)
            try attribute.addValidation(PredicateText("SELF != 3"), warning: "Not three.")
            try attribute.addValidation(PredicateText("SELF != 4"), warning: "")
        } _: {
            XCTAssertEqual(
                try self.attribute($0).validationRules,
                [
                    ValidationRule(PredicateText("SELF != 3"), warning: .text("Not three.")),
                    ValidationRule(PredicateText("SELF != 4"), warning: .text("")),
                ], $1)
        }
    }

    func testDerivationsRoundTrip() throws {
        for (written, expression, source) in [
            ("r.@count", "count:(r)", "r.@count"), ("r.n.@sum", "sum:(r.n)", "r.n.@sum"),
            ("r.n.@avg", "average:(r.n)", "r.n.@avg"), ("r.n.@min", "min:(r.n)", "r.n.@min"),
            ("r.n.@max", "max:(r.n)", "r.n.@max"), ("o.n", "o.n", "o.n"), ("now()", "now()", "now()"),
            ("canonical:(s)", "canonical:(s)", "canonical:(s)"),
        ] {
            let derivation = Derivation(ExpressionText(written))
            XCTAssertEqual(derivation.sourceText, source)
            try check {
                try $0.addAttribute(named: "a", type: .double).setDerivation(derivation)
            } _: {
                XCTAssertEqual(try self.attribute($0).derivation?.expression.text, expression, $1)
                XCTAssertNil(try self.attribute($0).derivation?.filter, $1)
            }
        }
        try check([.file, .cache, .copy]) {
            try $0.addAttribute(named: "a", type: .integer64).setDerivation(
                Derivation(ExpressionText("r.@count"), filter: PredicateText("n > 3")))
        } _: {
            XCTAssertEqual(try self.attribute($0).derivation?.filter?.text, "n > 3", $1)
        }
    }

    func testCompositeElementsRoundTrip() throws {
        try check {
            let place = try $0.addAttribute(named: "a", type: .composite, isOptional: false)
            try place.setCompositeName("Place")
            try place.addElement(named: "x", type: .double, isOptional: false).setDefaultValue(.double(0.5))
            let more = try place.addElement(named: "more", type: .composite)
            try more.setCompositeName("More")
            try more.addElement(named: "z", type: .integer16)
            try more.addElement(named: "w", type: .string, isOptional: false)
        } _: {
            let place = try self.attribute($0)
            XCTAssertFalse(place.isOptional, $1)
            XCTAssertEqual(place.elements.map(\.path), ["a.x", "a.more"], $1)
            XCTAssertEqual(place.leaves.map(\.path), ["a.x", "a.more.z", "a.more.w"], $1)
            XCTAssertEqual(place.leaves.map(\.type), [.double, .integer16, .string], $1)
            XCTAssertEqual(place.leaves.map(\.isOptional), [false, true, false], $1)
            XCTAssertEqual(place.leaves.map(\.defaultValue), [.double(0.5), .null, .null], $1)
            XCTAssertTrue(place.elements[1].isOptional, $1)
        }
        try check {
            let place = try $0.addAttribute(named: "a", type: .composite)
            let element = try place.addElement(named: "x", type: .double)
            try element.setUserInfo("m", forKey: "unit")
            try element.setBounds(least: nil, greatest: .double(9))
            try element.setRenamingIdentifier("former")
            try element.setVersionHashModifier("m")
            try element.setIndexedBySpotlight(true)
        } _: {
            let element = try self.attribute($0).elements[0]
            XCTAssertEqual(element.userInfo, ["unit": "m"], $1)
            XCTAssertEqual(element.bounds.greatest, .double(9), $1)
            XCTAssertEqual([element.renamingIdentifier, element.versionHashModifier], ["former", "m"], $1)
            XCTAssertTrue(element.isIndexedBySpotlight, $1)
        }
        // A compiled model cannot represent the name.
        try check([.source, .copy]) {
            try $0.addAttribute(named: "a", type: .composite).setCompositeName("Place")
            try $0.addAttribute(named: "b", type: .string)
        } _: {
            XCTAssertEqual(try self.attribute($0).compositeName, "Place", $1)
            XCTAssertNil(try self.attribute($0, "b").compositeName, $1)
        }
    }

    // MARK: - Relationships

    func testDeleteRulesRoundTrip() throws {
        for rule in DeleteRule.allCases {
            try check {
                try $0.addRelationship(named: "r", destination: $0).setDeleteRule(rule)
            } _: {
                XCTAssertEqual(try self.relationship($0).deleteRule, rule, $1)
            }
        }
    }

    func testRelationshipCountsRoundTrip() throws {
        for (minimum, maximum) in [(0, 1), (1, 1), (0, 0), (1, 0), (2, 2), (2, 5), (0, 3)] as [(UInt32, UInt32)] {
            try check {
                try $0.addRelationship(named: "r", destination: $0, isToMany: maximum != 1)
                    .setCounts(minimum: minimum, maximum: maximum)
            } _: {
                let read = try self.relationship($0)
                XCTAssertEqual([read.minimumCount, read.maximumCount], [minimum, maximum], $1)
                XCTAssertEqual(read.isToMany, maximum != 1, $1)
            }
        }
    }

    func testRelationshipFlagsRoundTrip() throws {
        for flag in [true, false] {
            try check {
                let there = try $0.addRelationship(
                    named: "r", destination: $0, isToMany: true, isOptional: !flag, isOrdered: flag)
                try there.setTransient(!flag)
                try there.setIndexedBySpotlight(flag)
                try there.setVersionHashModifier("m")
                try there.setRenamingIdentifier("former")
                try there.setUserInfo("v", forKey: "k")
                try there.setInverse(try $0.addRelationship(named: "back", destination: $0, isOptional: flag))
                try $0.addRelationship(named: "alone", destination: $0)
            } _: {
                let (there, back) = (try self.relationship($0), try self.relationship($0, "back"))
                XCTAssertEqual([there.isOptional, there.isOrdered], [!flag, flag], $1)
                XCTAssertEqual([there.isTransient, there.isIndexedBySpotlight], [!flag, flag], $1)
                XCTAssertEqual([back.isOptional, back.isOrdered, back.isTransient], [flag, false, false], $1)
                XCTAssertEqual([there.versionHashModifier, there.renamingIdentifier], ["m", "former"], $1)
                XCTAssertEqual(there.userInfo, ["k": "v"], $1)
                XCTAssertTrue(there.inverse === back && back.inverse === there, $1)
                XCTAssertNil(try self.relationship($0, "alone").inverse, $1)
            }
        }
    }

    // MARK: - Entities

    func testEntityFieldsRoundTrip() throws {
        let model = Model()
        let (base, child) = (try model.addEntity(named: "Base"), try model.addEntity(named: "Child"))
        let grandchild = try model.addEntity(named: "Grandchild")
        try child.setParent(base)
        try grandchild.setParent(child)
        try base.setAbstract(true)
        try base.setClassName("App.Base")
        try base.setVersionHashModifier("m")
        try base.setRenamingIdentifier("Root")
        try base.setUserInfo("v", forKey: "k")
        for (entity, name) in [(base, "a"), (child, "b"), (grandchild, "c")] {
            try entity.addAttribute(named: name, type: .string)
            try entity.addFetchedProperty(named: name + "f", fetchRequest: FetchRequestTemplate(entityName: "Base"))
        }
        try model.addVersionIdentifier("2")
        try model.addVersionIdentifier("1")
        for form in Form.allCases {
            let read = try read(model, form)
            XCTAssertEqual(read.versionIdentifiers, ["2", "1"], "\(form)")
            let entities = try ["Base", "Child", "Grandchild"].map { try read.requireEntity(named: $0) }
            XCTAssertEqual(entities.map { $0.parent?.name }, [nil, "Base", "Child"], "\(form)")
            XCTAssertEqual(entities.map { $0.children.map(\.name) }, [["Child"], ["Grandchild"], []], "\(form)")
            XCTAssertEqual(entities.map(\.isAbstract), [true, false, false], "\(form)")
            XCTAssertEqual(entities.map(\.className), ["App.Base", "NSManagedObject", "NSManagedObject"], "\(form)")
            XCTAssertEqual(entities.map(\.versionHashModifier), ["m", nil, nil], "\(form)")
            XCTAssertEqual(entities.map(\.renamingIdentifier), ["Root", nil, nil], "\(form)")
            XCTAssertEqual(entities.map(\.userInfo), [["k": "v"], [:], [:]], "\(form)")
            XCTAssertEqual(entities.map { $0.ownAttributes.map(\.name) }, [["a"], ["b"], ["c"]], "\(form)")
            XCTAssertEqual(entities.map { $0.ownFetchedProperties.map(\.name) }, [["af"], ["bf"], ["cf"]], "\(form)")
            XCTAssertEqual(entities[2].fetchedProperties.map(\.name), ["af", "bf", "cf"], "\(form)")
        }
    }

    func testIndexesAndTheirElementsRoundTrip() throws {
        let indexes = [
            FetchIndex(
                name: "second down", elements: [.init(property: "s"), .init(property: "n", isAscending: false)]),
            FetchIndex(
                name: "first down", elements: [.init(property: "n", isAscending: false), .init(property: "s")]),
            FetchIndex(
                name: "box",
                elements: [.init(property: "n", collation: .rTree), .init(property: "d", collation: .rTree)]),
            FetchIndex(
                name: "computed",
                elements: [
                    .init(property: "n"),
                    .init(
                        expression: ExpressionText("lowercase:(s)"), named: "expression2", type: .string,
                        isAscending: false),
                    .init(expression: ExpressionText("entity"), named: "expression3"),
                ], partialPredicate: PredicateText("n > 3")),
        ]
        try check {
            for (name, type) in [("s", AttributeType.string), ("n", .integer32), ("d", .date)] {
                try $0.addAttribute(named: name, type: type)
            }
            for index in indexes { try $0.appendIndex(index) }
        } _: {
            XCTAssertEqual($0.indexes.map(ModelSummary.index), indexes.map(ModelSummary.index), $1)
            XCTAssertEqual(
                $0.indexes.map { $0.elements.map(\.expressionType) },
                [
                    [.undefined, .undefined], [.undefined, .undefined], [.undefined, .undefined],
                    [.undefined, .string, .undefined],
                ], $1)
            XCTAssertEqual($0.indexes.map(\.isRTree), [false, false, true, false], $1)
            XCTAssertEqual($0.indexes.map(\.isPlain), [false, false, false, false], $1)
        }
    }

    func testUniqueConstraintsKeepTheirOrderInEveryForm() throws {
        try check {
            for name in ["a", "b", "c"] { try $0.addAttribute(named: name, type: .string) }
            try $0.addUniqueConstraint(["c"])
            try $0.addUniqueConstraint(["b", "a"])
        } _: {
            XCTAssertEqual($0.uniqueConstraints, [["c"], ["b", "a"]], $1)
        }
    }

    // MARK: - Fetch requests and configurations

    private func requests() -> [String: FetchRequestTemplate] {
        var requests: [String: FetchRequestTemplate] = [:]
        func add(_ name: String, _ change: (inout FetchRequestTemplate) -> Void) {
            var request = FetchRequestTemplate(entityName: "E")
            change(&request)
            requests[name] = request
        }
        add("plain") { _ in }
        add("predicate") { $0.predicate = PredicateText("s == $WORD AND n > 3") }
        add("limit") { $0.limit = 7 }
        add("offset") { $0.offset = 8 }
        add("batch") { $0.batchSize = 9 }
        add("IDs") { $0.resultType = .objectIDs }
        add("dictionaries") { $0.resultType = .dictionaries }
        add("count") { $0.resultType = .count }
        add("noSubentities") { $0.includesSubentities = false }
        add("noValues") { $0.includesPropertyValues = false }
        add("noFaults") { $0.returnsObjectsAsFaults = false }
        add("distinct") { $0.returnsDistinctResults = true }
        return requests
    }

    func testFetchRequestTemplatesRoundTrip() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        for (name, request) in requests() {
            try model.setFetchRequestTemplate(request, forName: name)
            try entity.addFetchedProperty(named: name, fetchRequest: request)
        }
        for form in Form.allCases {
            let read = try read(model, form)
            XCTAssertEqual(read.fetchRequestTemplates, requests(), "\(form)")
            let properties = read.entities[0].ownFetchedProperties
            XCTAssertEqual(
                Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.fetchRequest) }), requests(), "\(form)")
        }
    }

    func testSortDescriptorsAndPrefetchedPathsRoundTrip() throws {
        let model = Model()
        try model.addEntity(named: "E")
        var request = FetchRequestTemplate(entityName: "E")
        request.sortDescriptors = SortDescriptor.Selector.allCases.flatMap { selector in
            [true, false].map { SortDescriptor(path: KeyPath("a.b"), ascending: $0, selector: selector) }
        }
        request.relationshipKeyPathsForPrefetching = ["r", "r.back"]
        try model.setFetchRequestTemplate(request, forName: "t")
        for form in ModelFormTests.compiled + [.copy] {
            XCTAssertEqual(try read(model, form).fetchRequestTemplates, ["t": request], "\(form)")
        }
        XCTAssertEqual(
            model.sourceLosses,
            [
                "the sort descriptors of the fetch request template \"t\"",
                "the prefetched relationships of the fetch request template \"t\"",
            ])
    }

    func testFetchedPropertyFlagsRoundTrip() throws {
        for flag in [true, false] {
            try check {
                let property = try $0.addFetchedProperty(
                    named: "f", fetchRequest: FetchRequestTemplate(entityName: "E"), isOptional: flag)
                try property.setUserInfo("v", forKey: "k")
                try property.setRenamingIdentifier("former")
            } _: {
                let read = try XCTUnwrap($0.ownFetchedProperties.first)
                XCTAssertEqual(read.isOptional, flag, $1)
                XCTAssertFalse(read.isTransient, $1)
                XCTAssertEqual(read.userInfo, ["k": "v"], $1)
                XCTAssertEqual(read.renamingIdentifier, "former", $1)
            }
        }
    }

    func testConfigurationsRoundTrip() throws {
        let model = Model()
        for name in ["B", "A", "C"] { try model.addEntity(named: name) }
        try model.setConfiguration(ModelConfiguration(name: "Two", entityNames: ["B", "A"], isUsedWithCloudKit: true))
        try model.setConfiguration(ModelConfiguration(name: "None", entityNames: []))
        for form in [Form.source, .copy] {
            XCTAssertEqual(try read(model, form).configurations, model.configurations, "\(form)")
        }
        // A compiled configuration is a set of entities without the CloudKit flag.
        for form in ModelFormTests.compiled {
            XCTAssertEqual(
                try read(model, form).configurations,
                [
                    ModelConfiguration(name: "Two", entityNames: ["A", "B"]),
                    ModelConfiguration(name: "None", entityNames: []),
                ], "\(form)")
        }
    }
}
