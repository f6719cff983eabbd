import CorestoneFormats
@testable import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

/// The words and the order of written source models, and the reading of each word.
final class SourceLayoutTests: XCTestCase {
    private func read(_ inner: String, _ attributes: String = "") throws -> Model {
        try Model(sourceModel: Array("<model \(attributes)>\(inner)</model>".utf8))
    }

    private func entity(_ inner: String) throws -> Entity {
        // The model owns its entities.
        models.append(try read("<entity name='E'>\(inner)</entity>"))
        return models[models.count - 1].entities[0]
    }

    private var models: [Model] = []

    private func lines(_ model: Model) throws -> [String] {
        String(decoding: try model.source(), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    // MARK: - Writing

    func testEmptyModelIsWritten() throws {
        XCTAssertEqual(
            String(decoding: try Model().source(), as: UTF8.self),
            """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" \
            systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" \
            userDefinedModelVersionIdentifier=""/>
            """)
    }

    func testVersionIdentifiersAreSeparatedByCommas() throws {
        let model = Model()
        for identifier in ["", "2", "1"] { try model.addVersionIdentifier(identifier) }
        XCTAssertTrue(try lines(model)[1].contains(" userDefinedModelVersionIdentifier=\"2,1\""))
        try model.addVersionIdentifier("a,b")
        XCTAssertEqual(model.sourceLosses, ["the comma in the version identifier \"a,b\""])
    }

    func testEveryElementIsWrittenWithItsWordsInOrder() throws {
        let model = Model()
        let (base, note) = (try model.addEntity(named: "Base"), try model.addEntity(named: "Note"))
        try note.setParent(base)
        try note.setAbstract(true)
        try note.setClassName("App.Note")
        try note.setRenamingIdentifier("Memo")
        try note.setVersionHashModifier("m1")
        try note.setUserInfo("2", forKey: "b")
        try note.setUserInfo("1", forKey: "a")
        let pixels = try note.addAttribute(named: "pixels", type: .binary)
        try pixels.setAllowsExternalStorage(true)
        try pixels.setAllowsCloudEncryption(true)
        try pixels.setPreservesValueInHistory(true)
        try pixels.setIndexedBySpotlight(true)
        try pixels.setStoredInExternalRecord(true)
        try pixels.setRenamingIdentifier("bytes")
        try pixels.setVersionHashModifier("m2")
        let title = try note.addAttribute(named: "title", type: .string, isOptional: false, isTransient: true)
        try title.setBounds(least: .int(1), greatest: .int(9))
        try title.setDefaultValue(.string("x"))
        try title.setPattern("[x]+")
        let day = try note.addAttribute(named: "day", type: .date)
        try day.setBounds(least: .date(-1.5), greatest: .date(86_400))
        try day.setDefaultValue(.date(0))
        let shape = try note.addAttribute(named: "shape", type: .transformable)
        try shape.setValueTransformerName("Secret")
        try shape.setValueClassName("Box")
        let total = try note.addAttribute(named: "total", type: .integer64)
        try total.setDerivation(Derivation(ExpressionText("many.@count")))
        let many = try note.addRelationship(named: "many", destination: base, isToMany: true, isOrdered: true)
        try many.setCounts(minimum: 1, maximum: 9)
        try many.setDeleteRule(.cascade)
        try many.setIndexedBySpotlight(true)
        try many.setTransient(true)
        try many.setStoredInExternalRecord(true)
        try many.setRenamingIdentifier("all")
        try many.setVersionHashModifier("m3")
        try many.setInverse(try base.addRelationship(named: "one", destination: note, isOptional: false))
        try note.addFetchedProperty(
            named: "near",
            fetchRequest: FetchRequestTemplate(entityName: "Base", predicate: PredicateText("one != nil"))
        ).setUserInfo("v", forKey: "k")
        try note.addIndex(
            FetchIndex(
                name: "i",
                elements: [
                    .init(property: "title", isAscending: false),
                    .init(expression: ExpressionText("lowercase:(title)"), named: "expression2", type: .string),
                ], partialPredicate: PredicateText("title != nil")))
        try note.addUniqueConstraint(["title", "day"])
        var request = FetchRequestTemplate(entityName: "Note", predicate: PredicateText("title == $T"))
        (request.limit, request.offset, request.batchSize, request.resultType) = (3, 4, 5, .count)
        (request.includesSubentities, request.includesPropertyValues) = (false, false)
        (request.returnsObjectsAsFaults, request.returnsDistinctResults) = (false, true)
        try model.setFetchRequestTemplate(request, forName: "r")
        try model.setConfiguration(ModelConfiguration(name: "C", entityNames: ["Note"], isUsedWithCloudKit: true))
        let expected = """
                <entity name="Base" syncable="YES">
                    <relationship name="one" maxCount="1" deletionRule="Nullify" destinationEntity="Note" \
            inverseName="many" inverseEntity="Note"/>
                </entity>
                <entity name="Note" representedClassName="App.Note" isAbstract="YES" parentEntity="Base" \
            elementID="Memo" versionHashModifier="m1" syncable="YES">
                    <attribute name="day" optional="YES" attributeType="Date" minDateTimeInterval="-1.5" \
            maxDateTimeInterval="86400" defaultDateTimeInterval="0"/>
                    <attribute name="pixels" optional="YES" attributeType="Binary" \
            allowsExternalBinaryDataStorage="YES" allowsCloudEncryption="YES" preserveAfterDeletion="YES" \
            spotlightIndexingEnabled="YES" storedInTruthFile="YES" elementID="bytes" versionHashModifier="m2"/>
                    <attribute name="shape" optional="YES" attributeType="Transformable" \
            valueTransformerName="Secret" customClassName="Box"/>
                    <attribute name="title" transient="YES" attributeType="String" minValueString="1" \
            maxValueString="9" defaultValueString="x" regularExpressionString="[x]+"/>
                    <attribute name="total" optional="YES" attributeType="Integer 64" derived="YES" \
            derivationExpression="many.@count"/>
                    <relationship name="many" optional="YES" transient="YES" toMany="YES" minCount="1" maxCount="9" \
            deletionRule="Cascade" ordered="YES" destinationEntity="Base" inverseName="one" inverseEntity="Base" \
            spotlightIndexingEnabled="YES" storedInTruthFile="YES" elementID="all" versionHashModifier="m3"/>
                    <fetchedProperty name="near" optional="YES">
                        <fetchRequest name="fetchedPropertyFetchRequest" entity="Base" predicateString="one != nil"/>
                        <userInfo>
                            <entry key="k" value="v"/>
                        </userInfo>
                    </fetchedProperty>
                    <fetchIndex name="i" partialIndexPredicate="title != nil">
                        <fetchIndexElement property="title" type="Binary" order="descending"/>
                        <fetchIndexElement expression="lowercase:(title)" expressionType="String" type="Binary" \
            order="ascending"/>
                    </fetchIndex>
                    <uniquenessConstraints>
                        <uniquenessConstraint>
                            <constraint value="title"/>
                            <constraint value="day"/>
                        </uniquenessConstraint>
                    </uniquenessConstraints>
                    <userInfo>
                        <entry key="a" value="1"/>
                        <entry key="b" value="2"/>
                    </userInfo>
                </entity>
                <fetchRequest name="r" entity="Note" predicateString="title == $T" fetchLimit="3" fetchOffset="4" \
            fetchBatchSize="5" resultType="4" includeSubentities="NO" includePropertyValues="NO" \
            returnObjectsAsFaults="NO" returnDistinctResults="YES"/>
                <configuration name="C" usedWithCloudKit="YES">
                    <memberEntity name="Note"/>
                </configuration>
            """
        XCTAssertEqual(
            try lines(model).dropFirst(2).dropLast(), ArraySlice(expected.split(separator: "\n").map(String.init)))
    }

    func testValuesHaveTheirSourceText() throws {
        let cases: [(AttributeType, PropertyValue, String?)] = [
            (.boolean, .bool(true), "YES"), (.boolean, .bool(false), "NO"), (.integer16, .int(-3), "-3"),
            (.double, .double(0.1), "0.1"), (.float, .double(Double(Float(0.1))), "0.1"),
            (.decimal, .decimal(DecimalNumber(0)), "0.0"), (.decimal, .decimal(try DecimalNumber("1.50")), "1.5"),
            (.date, .date(12), "12"), (.date, .date(0.5), "0.5"), (.string, .string("t"), "t"),
            (.uri, .uri(Text("a:b")), "a:b"),
            (.uuid, .uuid(UUIDValue(high: 1, low: 2)), "00000000-0000-0001-0000-000000000002"),
            (.binary, .bytes(Bytes([1])), nil), (.undefined, .null, nil),
        ]
        for (type, value, text) in cases { XCTAssertEqual(type.sourceText(of: value), text, "\(type) \(value)") }
    }

    func testUnnamedCompositeIsNamedAfterItsAttribute() throws {
        let model = Model()
        let place = try model.addEntity(named: "E").addAttribute(named: "homePlace", type: .composite)
        try place.addElement(named: "x", type: .double, isOptional: false)
        let lines = try lines(model)
        XCTAssertEqual(
            lines.dropFirst(2).dropLast().map { $0.trimmingCharacters(in: .whitespaces) },
            [
                #"<entity name="E" syncable="YES">"#,
                #"<attribute name="homePlace" optional="YES" attributeType="Composite" composite="HomePlace"/>"#,
                "</entity>", #"<composite name="HomePlace">"#, #"<attribute name="x" attributeType="Double"/>"#,
                "</composite>",
            ])
    }

    func testVersionIdentifierIsFirstUpToXcode7() throws {
        for (version, isFirst) in [("7701", true), ("10999.9", true), ("11000", false), ("1", false), ("x", false)] {
            let model = try read(
                "", "documentVersion='1.0' lastSavedToolsVersion='\(version)' userDefinedModelVersionIdentifier='v'")
            let line = try lines(model)[1]
            let isBefore =
                try XCTUnwrap(line.range(of: "userDefinedModel")).lowerBound
                < XCTUnwrap(line.range(of: "documentVersion")).lowerBound
            XCTAssertEqual(isBefore, isFirst, version)
        }
    }

    func testXMLTextIsEscapedAndControlCharactersFail() throws {
        XCTAssertEqual(try escapedXML("a&b<c>d\"e\n\t\r"), "a&amp;b&lt;c&gt;d\"e\n\t&#13;")
        XCTAssertEqual(
            try escapedXML("a&b<c>d\"e\n\t\r", isAttribute: true), "a&amp;b&lt;c&gt;d&quot;e&#10;&#9;&#13;")
        for scalar in ["\u{0}", "\u{8}", "\u{B}", "\u{1F}", "\u{FFFE}", "\u{FFFF}"] {
            XCTAssertThrowsError(try escapedXML("x" + scalar)) { XCTAssertEqual(($0 as? CoreError)?.status, .model) }
        }
        XCTAssertThrowsError(try escapedXML("a\u{1F}")) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "\"a␟\" contains the character U+001F, which XML cannot represent; remove the character"
            )
        }
        XCTAssertEqual(try escapedXML(" \u{20}\u{FFFD}🎉"), " \u{20}\u{FFFD}🎉")
    }

    // MARK: - Reading

    func testFlagSpellingsAreReadOrKept() throws {
        for (text, flag) in [
            ("YES", true), ("true", true), ("1", true), ("NO", false), ("false", false), ("0", false), ("yes", false),
            ("", false), ("2", false),
        ] {
            let entity = try entity("<attribute name='a' attributeType='String' optional='\(text)'/>")
            XCTAssertEqual(entity.ownAttributes[0].isOptional, flag, text)
            let isKept = ["yes", "", "2"].contains(text)
            XCTAssertEqual(entity.ownAttributes[0].extras.attributes, isKept ? ["optional": text] : [:], text)
        }
    }

    func testMissingWordsHaveDefaults() throws {
        let entity = try entity(
            """
            <attribute name='a'/><relationship name='r' destinationEntity='E'/>
            <relationship name='s' toMany='YES' destinationEntity='E'/>
            <fetchedProperty name='f'><fetchRequest entity='E'/></fetchedProperty>
            <fetchIndex name='i'><fetchIndexElement property='a'/></fetchIndex>
            """)
        let (attribute, toOne, toMany) = (
            entity.ownAttributes[0], entity.ownRelationships[0], entity.ownRelationships[1]
        )
        XCTAssertEqual(attribute.type, .undefined)
        XCTAssertEqual([attribute.isOptional, attribute.isTransient], [false, false])
        XCTAssertEqual([toOne.isOptional, toOne.isToMany, toOne.isOrdered], [false, false, false])
        XCTAssertEqual([toOne.minimumCount, toOne.maximumCount], [0, 1])
        XCTAssertEqual([toMany.minimumCount, toMany.maximumCount], [0, 0])
        XCTAssertEqual([toOne.deleteRule, toMany.deleteRule], [.nullify, .nullify])
        XCTAssertEqual(entity.ownFetchedProperties[0].isOptional, false)
        XCTAssertEqual(entity.ownFetchedProperties[0].fetchRequest, FetchRequestTemplate(entityName: "E"))
        XCTAssertEqual(ModelSummary.index(entity.indexes[0]), "a [\"a - binary true\"] where -", "of the attribute")
        XCTAssertEqual(ModelSummary.index(entity.indexes[1]), "i [\"a - binary true\"] where -")
        XCTAssertEqual(entity.className, "NSManagedObject")
        XCTAssertEqual(entity.isAbstract, false)
    }

    func testRedundantNamesAreIgnored() throws {
        let model = try read(
            """
            <entity name='E' elementID='E' representedClassName=''>
            <attribute name='a' attributeType='String' elementID='a' valueTransformerName=''/></entity>
            """)
        XCTAssertNil(model.entities[0].renamingIdentifier)
        XCTAssertEqual(model.entities[0].className, "NSManagedObject")
        XCTAssertNil(model.entities[0].ownAttributes[0].renamingIdentifier)
        XCTAssertNil(model.entities[0].ownAttributes[0].valueTransformerName)
    }

    func testCountsDetermineToOneAndToMany() throws {
        for (words, isToMany, counts) in [
            ("maxCount='1'", false, [0, 1]), ("maxCount='2'", true, [0, 2]), ("maxCount='0'", true, [0, 0]),
            ("toMany='YES' maxCount='1' minCount='1'", true, [1, 1]), ("minCount='1'", false, [1, 1]),
            ("toMany='YES' minCount='2'", true, [2, 0]), ("toMany='NO' maxCount='many'", false, [0, 1]),
            ("ordered='YES'", false, [0, 1]),
        ] as [(String, Bool, [UInt32])] {
            let relationship = try entity("<relationship name='r' destinationEntity='E' \(words)/>").ownRelationships[0]
            XCTAssertEqual([relationship.minimumCount, relationship.maximumCount], counts, words)
            XCTAssertEqual(relationship.isOrdered, false, words)
            if counts[1] != 1 { XCTAssertEqual(relationship.isToMany, isToMany, words) }
        }
    }

    func testInvalidDefaultsAreReadLenientlyOrKeptAsText() throws {
        for (type, text, value) in [
            ("Integer 16", "12.7", .int(12)), ("Integer 32", "-3.5", .int(-3)), ("Integer 64", "NO", .int(0)),
            ("Integer 16", "-x", .int(0)), ("Integer 16", "5 apples", .int(5)), ("Integer 16", "", .int(0)),
            ("Integer 16", "40000", .null), ("Double", "x", .null), ("Double", "inf", .null),
            ("Boolean", "1", .bool(true)),
            ("Boolean", "0", .bool(false)), ("Boolean", "true", .null), ("Decimal", "", .null),
            ("UUID", "1", .null), ("Binary", "AQ==", .null),
        ] as [(String, String, PropertyValue)] {
            let attribute = try entity(
                "<attribute name='a' attributeType='\(type)' defaultValueString='\(text)'/>"
            ).ownAttributes[0]
            XCTAssertEqual(attribute.defaultValue, value, "\(type) \(text)")
            XCTAssertEqual(
                attribute.extras.attributes, value.isNull ? ["defaultValueString": text] : [:], "\(type) \(text)")
        }
        let date = try entity("<attribute name='a' attributeType='Date' defaultValueString='3'/>").ownAttributes[0]
        XCTAssertEqual(date.defaultValue, .null, "the default of a date has its own XML attribute")
    }

    func testInvalidNumbersOfFetchRequestsAreIgnored() throws {
        let model = try read(
            """
            <fetchRequest name='r' entity='E' fetchLimit='-1' fetchOffset='x' fetchBatchSize='2' resultType='3'
                includeSubentities='maybe' returnObjectsAsFaults='1' returnDistinctResults='YES'/>
            """)
        var expected = FetchRequestTemplate(entityName: "E")
        (expected.batchSize, expected.includesSubentities, expected.returnsDistinctResults) = (2, false, true)
        XCTAssertEqual(model.fetchRequestTemplates, ["r": expected])
        XCTAssertEqual(model.extras.elements.map(\.name), ["fetchRequest"], "kept, because part of it is unknown")
    }

    func testFirstOfDuplicateNamesIsUsed() throws {
        let model = try read(
            """
            <entity name='E'><attribute name='a' attributeType='String'>
              <userInfo><entry key='k' value='1'/><entry key='k' value='2'/><entry key='e'/></userInfo></attribute></entity>
            <fetchRequest name='r' entity='E'/><fetchRequest name='r' entity='F'/>
            <configuration name='C'><memberEntity name='E'/></configuration><configuration name='C'/>
            """)
        XCTAssertEqual(model.entities[0].ownAttributes[0].userInfo, ["k": "1", "e": ""])
        XCTAssertEqual(model.fetchRequestTemplates["r"]?.entityName, "E")
        XCTAssertEqual(model.configurations, [ModelConfiguration(name: "C", entityNames: ["E"])])
        XCTAssertEqual(model.extras.elements.map(\.name), ["fetchRequest", "configuration"])
    }

    func testIndexedAttributesBecomeFetchIndexes() throws {
        let indexes = try entity(
            """
            <attribute name='b' attributeType='String' indexed='YES'/><attribute name='a' attributeType='String'/>
            <attribute name='c' attributeType='String' indexed='YES'/><attribute name='d' attributeType='String'/>
            <fetchIndex name='byA'><fetchIndexElement property='a' order='ascending'/></fetchIndex>
            <fetchIndex name='byD'><fetchIndexElement property='d' order='descending'/></fetchIndex>
            <fetchIndex name='c'><fetchIndexElement property='a' order='descending'/></fetchIndex>
            """
        ).indexes
        XCTAssertEqual(indexes.map(\.name), ["a", "b", "byA", "byD", "c"])
        XCTAssertEqual(indexes.map(\.spelling), [.implied, .attribute, .fetchIndex, .fetchIndex, .fetchIndex])
    }

    func testMismatchedInversesAreIgnored() throws {
        let model = try read(
            """
            <entity name='A'><relationship name='b' destinationEntity='B' inverseName='a' inverseEntity='B'/>
              <relationship name='c' destinationEntity='B' inverseName='d' inverseEntity='B'/></entity>
            <entity name='B'><relationship name='a' destinationEntity='A' inverseName='x' inverseEntity='A'/>
              <relationship name='d' destinationEntity='A' inverseName='c' inverseEntity='A'/></entity>
            """)
        let (a, b) = (model.entities[0].ownRelationships, model.entities[1].ownRelationships)
        XCTAssertEqual((a + b).map { $0.inverse?.name }, [nil, "d", nil, "c"])
        XCTAssertEqual(a[0].extras.attributes, ["inverseName": "a", "inverseEntity": "B"])
        XCTAssertEqual(a[1].extras.attributes, [:])
    }

    func testUnknownDeleteRuleIsKeptAsText() throws {
        let relationship = try entity(
            "<relationship name='r' destinationEntity='E' deletionRule='Shred'/>"
        ).ownRelationships[0]
        XCTAssertEqual(relationship.deleteRule, .nullify)
        XCTAssertEqual(relationship.extras.attributes, ["deletionRule": "Shred"])
        XCTAssertEqual(
            DeleteRule.allCases.map(\.sourceText), ["No Action", "Nullify", "Cascade", "Deny"])
        XCTAssertEqual(DeleteRule.allCases.map(\.rawValue), [0, 1, 2, 3])
    }

    func testUnreadableBoundsAreKeptAsText() throws {
        let attribute = try entity(
            "<attribute name='a' attributeType='Integer 16' minValueString='low' maxValueString='5'/>"
        ).ownAttributes[0]
        XCTAssertEqual(attribute.validationRules.map(\.predicate.text), ["SELF <= 5"])
        XCTAssertEqual(attribute.extras.attributes, ["minValueString": "low"])
        let flag = try entity("<attribute name='a' attributeType='Boolean' minValueString='1'/>").ownAttributes[0]
        XCTAssertEqual(flag.validationRules, [])
        XCTAssertEqual(flag.extras.attributes, ["minValueString": "1"])
        let number = try entity(
            "<attribute name='a' attributeType='Double' regularExpressionString='x'/>"
        ).ownAttributes[0]
        XCTAssertEqual(number.validationRules, [], "only strings have patterns")
    }

    func testSourceLossesListUnsupportedContent() throws {
        let model = Model()
        let entity = try model.addEntity(named: "E")
        let count = try entity.addAttribute(named: "count", type: .integer16)
        try count.setBounds(least: .int(1), greatest: nil)
        try count.addValidation(PredicateText("SELF >= 2"), warning: "Two at least.")
        try count.setValidationRules(
            count.validationRules + [ValidationRule(PredicateText("SELF >= 3"), warning: .code(1620))])
        try count.setAllowsNaN(true)
        try entity.addAttribute(named: "size", type: .double).setDefaultValue(.double(.infinity))
        let derived = try entity.addAttribute(named: "derived", type: .integer16)
        try derived.setDerivation(Derivation(ExpressionText("r.@count"), filter: PredicateText("count > 1")))
        let relationship = try entity.addRelationship(named: "r", destination: entity, isToMany: true)
        try relationship.setCounts(minimum: 0, maximum: .max)
        try relationship.addValidation(PredicateText("@count > 1"), warning: "w")
        var request = FetchRequestTemplate(entityName: "E")
        request.sortDescriptors = [SortDescriptor("count")]
        try entity.addFetchedProperty(named: "f", fetchRequest: request)
        XCTAssertEqual(
            model.sourceLosses,
            [
                "the validation predicate \"SELF >= 2\" of E.count",
                "the validation predicate \"SELF >= 3\" of E.count",
                "the permission for NaN values of E.count", "the default value of E.size",
                "the filter of the derived attribute E.derived", "the validation predicate \"@count > 1\" of E.r",
                "the maximum count -1 of E.r", "the sort descriptors of E.f",
            ])
        XCTAssertThrowsError(try model.source()) {
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "a source model cannot represent the validation predicate \"SELF >= 2\" of E.count and 7 other parts; "
                    + "remove these parts, or allow losses with CST_MODEL_LOSSY (lossy, isLossy)")
        }
    }
}
