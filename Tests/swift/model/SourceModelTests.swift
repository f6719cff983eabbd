import CorestoneFileSystem
import CorestonePredicate
import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

final class SourceModelTests: XCTestCase {
    private func model(_ inner: String) throws -> Model {
        try Model(
            sourceModel: Array(
                """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" userDefinedModelVersionIdentifier="a,b" future="1">
                \(inner)
                </model>
                """.utf8))
    }

    private func message(_ inner: String) -> String {
        do {
            try model(inner).freeze()
            return "none"
        } catch { return (error as? CoreError)?.message ?? "\(error)" }
    }

    func testCompoundIndexesMayContainSelfAndEntity() throws {
        let model = try model(
            """
            <entity name="Place"><attribute name="title" attributeType="String"/>
              <compoundIndexes><compoundIndex><index value="title"/><index value="self"/></compoundIndex>
              <compoundIndex><index value="entity"/><index value="title"/></compoundIndex></compoundIndexes>
            </entity>
            """)
        try model.freeze()
        let indexes = try XCTUnwrap(model.entity(named: "Place")).indexes
        XCTAssertEqual(indexes.map(\.name), ["title_self", "entity_title"])
        XCTAssertEqual(indexes.map { $0.elements.map { $0.expression?.text ?? "" } }, [["", "self"], ["entity", ""]])
        let compiled = try Model(data: try compiledModel(model))
        try compiled.freeze()
        let again = try XCTUnwrap(compiled.entity(named: "Place")).indexes
        XCTAssertEqual(again.map { $0.elements.map { $0.expression?.text ?? "" } }, [["", "SELF"], ["entity", ""]])
    }

    /// An index of a file is kept in any case, but no fetch uses an R-tree over other types.
    func testLintFindsRTreesOverOtherTypesThanNumbersBooleansAndDates() throws {
        func faults(_ type: String) throws -> [String] {
            let model = try model(
                """
                <entity name="Place"><attribute name="at" attributeType="\(type)"/>
                  <fetchIndex name="byAt"><fetchIndexElement property="at" type="RTree" order="ascending"/></fetchIndex></entity>
                """)
            try model.freeze()
            return model.lint().filter { $0.rule == .unservedRTree }.map(\.message)
        }
        for type in ["Integer 16", "Integer 64", "Decimal", "Double", "Float", "Boolean", "Date"] {
            XCTAssertEqual(try faults(type), [], type)
        }
        for (type, name) in [("String", "String"), ("UUID", "UUID"), ("Binary", "Binary Data"), ("URI", "URI")] {
            let found = try faults(type)
            XCTAssertEqual(found.count, 1, type)
            XCTAssert(found.allSatisfy { $0.contains("\"byAt\" of Place contains Place.at (\(name))") }, "\(found)")
        }
    }

    func testEveryKindOfElementIsRead() throws {
        let model = try model(
            """
            <entity name="Place" representedClassName=".Place" isAbstract="YES" elementID="Spot" syncable="YES"
                versionHashModifier="2" codeGenerationType="class">
              <attribute name="title" attributeType="String" minValueString="2" maxValueString="40"
                  regularExpressionString="[a-z]+" defaultValueString="here" spotlightIndexingEnabled="YES"/>
              <attribute name="since" optional="YES" attributeType="Date" defaultDateTimeInterval="12.5"
                  minDateTimeInterval="-1" usesScalarValueType="NO"/>
              <attribute name="photo" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"
                  preserveAfterDeletion="YES" allowsCloudEncryption="YES" storedInTruthFile="YES"/>
              <attribute name="shape" optional="YES" attributeType="Transformable" valueTransformerName="Shape"
                  customClassName="ShapeBox"/>
              <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES"
                  derivationExpression="parts.@count"/>
              <attribute name="at" optional="YES" attributeType="Composite" composite="Point"/>
              <attribute name="rank" attributeType="Integer 16" minValueString="0" maxValueString="5" indexed="YES"/>
              <relationship name="parts" optional="YES" toMany="YES" ordered="YES" minCount="1" maxCount="9"
                  deletionRule="Cascade" destinationEntity="Part" inverseName="place" inverseEntity="Place">
                <userInfo><entry key="k" value="v"/></userInfo>
              </relationship>
              <fetchedProperty name="near" optional="YES">
                <fetchRequest name="fetchedPropertyFetchRequest" entity="Part" predicateString="name == $FETCH_SOURCE.title"/>
              </fetchedProperty>
              <fetchIndex name="byTitle" partialIndexPredicate="rank &gt; 3">
                <fetchIndexElement property="title" type="Binary" order="descending"/>
                <fetchIndexElement expression="lowercase:(title)" expressionType="String" type="Binary" order="ascending"/>
              </fetchIndex>
              <fetchIndex name="byBox"><fetchIndexElement property="rank" type="RTree" order="ascending"/></fetchIndex>
              <uniquenessConstraints><uniquenessConstraint><constraint value="title"/><constraint value="rank"/>
              </uniquenessConstraint></uniquenessConstraints>
              <compoundIndexes><compoundIndex><index value="title"/><index value="since"/></compoundIndex></compoundIndexes>
              <userInfo><entry key="sync" value="yes"/></userInfo>
              <novelty a="1"><inner/></novelty>
            </entity>
            <entity name="Part" parentEntity="Thing">
              <relationship name="place" maxCount="1" deletionRule="Deny" destinationEntity="Place" inverseName="parts"
                  inverseEntity="Place"/>
            </entity>
            <entity name="Thing"><attribute name="name" optional="YES" attributeType="String"/></entity>
            <fetchRequest name="top" entity="Place" predicateString="rank == $RANK" fetchLimit="3" resultType="2"
                includeSubentities="NO" returnDistinctResults="YES"/>
            <configuration name="Local" usedWithCloudKit="YES"><memberEntity name="Part"/></configuration>
            <composite name="Point">
              <attribute name="x" attributeType="Double" defaultValueString="0.5"/>
              <attribute name="more" optional="YES" attributeType="Composite" composite="Height"/>
            </composite>
            <composite name="Height"><attribute name="z" optional="YES" attributeType="Float"/></composite>
            <elements><element name="Place" positionX="0"/></elements>
            """)
        try model.freeze()
        XCTAssertEqual(model.versionIdentifiers, ["a", "b"])
        XCTAssertEqual(model.extras.attributes["future"], "1")
        XCTAssertEqual(model.extras.elements.map(\.name), ["elements"])
        let place = try model.requireEntity(named: "Place")
        XCTAssertEqual(place.className, ".Place")
        XCTAssertTrue(place.isAbstract)
        XCTAssertEqual(place.renamingIdentifier, "Spot")
        XCTAssertEqual(place.versionHashModifier, "2")
        XCTAssertEqual(place.extras.attributes, ["syncable": "YES", "codeGenerationType": "class"])
        XCTAssertEqual(place.extras.elements.map(\.name), ["novelty"])
        XCTAssertEqual(place.extras.elements[0].elements.map(\.name), ["inner"])
        XCTAssertEqual(place.userInfo, ["sync": "yes"])
        XCTAssertEqual(place.uniqueConstraints, [["title", "rank"]])
        let attributes = Dictionary(uniqueKeysWithValues: place.ownAttributes.map { ($0.name, $0) })
        XCTAssertEqual(
            attributes["title"]?.validationRules.map(\.predicate.text),
            ["length >= 2", "length <= 40", "SELF MATCHES \"[a-z]+\""])
        XCTAssertEqual(
            attributes["title"]?.validationRules.map(\.warning), [.code(1670), .code(1660), .code(1680)])
        XCTAssertEqual(attributes["title"]?.defaultValue, .string("here"))
        XCTAssertEqual(attributes["title"]?.isIndexedBySpotlight, true)
        XCTAssertEqual(attributes["since"]?.defaultValue, .date(12.5))
        XCTAssertEqual(attributes["since"]?.validationRules.map(\.warning), [.code(1640)])
        XCTAssertEqual(attributes["since"]?.extras.attributes, ["usesScalarValueType": "NO"])
        let photo = try XCTUnwrap(attributes["photo"])
        XCTAssertTrue(
            photo.allowsExternalStorage && photo.preservesValueInHistory && photo.allowsCloudEncryption
                && photo.isStoredInExternalRecord)
        XCTAssertEqual(attributes["shape"]?.valueTransformerName, "Shape")
        XCTAssertEqual(attributes["shape"]?.valueClassName, "ShapeBox")
        XCTAssertEqual(attributes["count"]?.derivation?.expression.text, "count:(parts)")
        XCTAssertEqual(attributes["at"]?.leaves.map(\.path), ["at.x", "at.more.z"])
        XCTAssertEqual(attributes["at"]?.leaves.first?.defaultValue, .double(0.5))
        XCTAssertEqual(attributes["rank"]?.validationRules.map(\.predicate.text), ["SELF >= 0", "SELF <= 5"])
        let parts = try XCTUnwrap(place.ownRelationships.first)
        XCTAssertEqual(
            ModelSummary.relationship(parts).contains(
                "to Part inverse place rule cascade counts 1 9 ordered true"), true)
        XCTAssertEqual(parts.userInfo, ["k": "v"])
        XCTAssertEqual(place.ownFetchedProperties.first?.fetchRequest.predicate?.text, "name == $FETCH_SOURCE.title")
        XCTAssertEqual(
            place.indexes.map(ModelSummary.index),
            [
                "rank [\"rank - binary true\"] where -",
                "byTitle [\"title - binary false\", \"expression2 lowercase:(title) binary true\"] where rank > 3",
                "byBox [\"rank - rTree true\"] where -",
                "title_since [\"title - binary true\", \"since - binary true\"] where -",
            ])
        let top = try XCTUnwrap(model.fetchRequestTemplates["top"])
        XCTAssertEqual(top.limit, 3)
        XCTAssertEqual(top.resultType, .dictionaries)
        XCTAssertFalse(top.includesSubentities)
        XCTAssertTrue(top.includesPropertyValues && top.returnsDistinctResults)
        XCTAssertEqual(
            model.configurations, [ModelConfiguration(name: "Local", entityNames: ["Part"], isUsedWithCloudKit: true)])
        XCTAssertEqual(model.entity(named: "Part")?.property(named: "name")?.slot, 0)
    }

    func testInvalidSourceModelsFailWithTheirMessage() {
        XCTAssertEqual(
            message("<entity/>"),
            "the source model has an element <entity> without the XML attribute \"name\"; add the attribute")
        XCTAssertEqual(
            message("<entity name='A' parentEntity='B'/>"),
            "A inherits from \"B\", which is not an entity of the model; add the entity, or set another superentity")
        XCTAssertEqual(
            message("<entity name='A'><relationship name='r' destinationEntity='B'/></entity>"),
            "A.r has the destination \"B\", which is not an entity of the model; add the entity, or set another destination"
        )
        XCTAssertEqual(
            message("<entity name='Author'><relationship name='r' destinationEntity='Auhtor'/></entity>"),
            "Author.r has the destination \"Auhtor\", which is not an entity of the model; did you mean \"Author\"?")
        XCTAssertEqual(
            message("<entity name='A'><attribute name='a' attributeType='Tensor'/></entity>"),
            "A.a has the unknown attribute type \"Tensor\"; use a type of Xcode's model editor, such as "
                + "\"Integer 64\" or \"String\"")
        XCTAssertEqual(
            message("<entity name='A'><attribute name='a' attributeType='Composite' composite='C'/></entity>"),
            "A.a has the composite type \"C\", which is not defined in the model; define it, or set another composite type"
        )
        XCTAssertEqual(
            message("<entity name='A' parentEntity='B'/><entity name='B' parentEntity='A'/>"),
            "B cannot inherit from A: the inheritance would be circular; set another superentity")
        XCTAssertTrue(message("<entity name='A; DROP TABLE'/>").contains("is not a valid name for an entity"))
        XCTAssertTrue(message("<entity name='A'>").contains("mismatched tag"))
    }

    func testEntityDeclarationsAndDeepNestingAreRejected() throws {
        func refused(_ text: String) -> String {
            do {
                _ = try Model(sourceModel: Array(text.utf8))
                return "none"
            } catch { return (error as? CoreError)?.message ?? "\(error)" }
        }
        var bomb = "<?xml version='1.0'?><!DOCTYPE model [<!ENTITY a0 'lol'>"
        for level in 1..<30 { bomb += "<!ENTITY a\(level) '&a\(level - 1);&a\(level - 1);'>" }
        XCTAssertTrue(refused(bomb + "]><model name='&a29;'/>").contains("entity declarations are not allowed"))
        XCTAssertTrue(
            refused("<!DOCTYPE model [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><model name='&x;'/>")
                .contains("entity declarations are not allowed"))
        let deep = String(repeating: "<a>", count: 100_000)
        XCTAssertTrue(refused("<model>" + deep).contains("nested more than 64 levels deep, which is the limit"))
        XCTAssertTrue(
            refused("<!-- " + String(repeating: "x", count: 65 << 20) + " --><model/>").contains("but the limit is"))
        let types =
            "<composite name='C'>"
            + (0..<9).map { "<attribute name='a\($0)' attributeType='Composite' composite='C'/>" }
            .joined() + "</composite>"
        let recursive = message(
            "<entity name='E'><attribute name='a' attributeType='Composite' composite='C'/></entity>" + types)
        XCTAssertTrue(
            recursive.contains("16 levels deep, which is the limit") || recursive.contains("more than 100000 elements"),
            recursive)
    }

    /// A hundred thousand entities are read, linked and frozen in linear time.
    func testLargeModelIsReadInLinearTime() throws {
        try assertLinearTime(upTo: 100_000) { count in
            var text = "<model userDefinedModelVersionIdentifier=''>"
            for number in 0..<count {
                text += "<entity name='E\(number)' parentEntity='E\(number / 2000)'><attribute name='a\(number)' "
                text += "attributeType='String'/></entity>"
            }
            text = text.replacingOccurrences(of: "name='E0' parentEntity='E0'", with: "name='E0'")
            let model = try Model(sourceModel: Array((text + "</model>").utf8))
            try model.freeze()
            XCTAssertEqual(model.entities.count, count)
        }
    }

    // MARK: - Files

    private func scratch() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("corestone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
        return folder.path
    }

    private func write(_ text: String, _ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: LocalFile(path).folder.path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    func testVersionsOfASourceBundleAreRead() throws {
        let bundle = try scratch() + "/App.xcdatamodeld"
        for version in ["App", "App 2"] {
            try write(
                "<model><entity name='\(version.filter { $0 != " " })'/></model>",
                "\(bundle)/\(version).xcdatamodel/contents")
        }
        XCTAssertEqual(try Model(contentsOf: bundle).entities.map(\.name), ["App"], "like the bundle, without a word")
        try write(
            "<plist><dict><key>_XCCurrentVersionName</key><string>App 2.xcdatamodel</string></dict></plist>",
            "\(bundle)/.xccurrentversion")
        XCTAssertEqual(try Model(contentsOf: bundle + "/").entities.map(\.name), ["App2"])
        XCTAssertEqual(try Model(contentsOf: bundle, version: "App").entities.map(\.name), ["App"])
        XCTAssertEqual(try Model(contentsOf: bundle, version: "App 2.xcdatamodel").entities.map(\.name), ["App2"])
        XCTAssertEqual(try Model.versions(of: bundle).map(\.name), ["App", "App 2"])
        XCTAssertEqual(try Model.versions(of: bundle).map(\.isCurrent), [false, true])
        XCTAssertThrowsError(try Model(contentsOf: bundle, version: "App 3")) {
            let error = $0 as? CoreError
            XCTAssertEqual(error?.message, "\(bundle) has no version \"App 3\"; use \"App\" or \"App 2\"")
            XCTAssertEqual(error?.file, bundle)
        }
        let single = bundle + "/App 2.xcdatamodel"
        XCTAssertEqual(try Model(contentsOf: single).entities.map(\.name), ["App2"])
        XCTAssertEqual(try Model(contentsOf: single + "/contents").entities.map(\.name), ["App2"])
        XCTAssertEqual(try Model.versions(of: single).map(\.name), ["App 2"])
        XCTAssertThrowsError(try Model(contentsOf: single, version: "App"))
    }

    func testErrorNamesTheFileThatIsNotAModel() throws {
        let folder = try scratch()
        func message(_ path: String) -> (String, Status?) {
            do { _ = try Model(contentsOf: path) } catch {
                return ((error as? CoreError)?.message ?? "", (error as? CoreError)?.status)
            }
            return ("none", nil)
        }
        try write("SQLite format 3\0 and more", folder + "/a.sqlite")
        XCTAssertEqual(
            message(folder + "/a.sqlite").0,
            "\(folder)/a.sqlite cannot be read as a model: the data is an SQLite database, not a model; open it "
                + "with cst_container_open (corestone.open, Container.open) if it is a store, and use its model")
        XCTAssertThrowsError(try Model(contentsOf: folder + "/a.sqlite")) { XCTAssertNil(($0 as? CoreError)?.key) }
        try write("hello", folder + "/a.txt")
        XCTAssertEqual(message(folder + "/a.txt").1, .model)
        XCTAssertTrue(message(folder + "/a.txt").0.hasPrefix("\(folder)/a.txt cannot be read as a model: "))
        try write("", folder + "/empty")
        XCTAssertTrue(
            message(folder + "/empty").0.hasSuffix(": the data is empty; use an undamaged .mom or contents file"))
        XCTAssertEqual(message(folder + "/none").1, .storeIO)
        XCTAssertEqual(message(folder).1, .model)
        XCTAssertEqual(mkfifo(folder + "/pipe", 0o600), 0)
        XCTAssertEqual(message(folder + "/pipe").0, "\(folder)/pipe is not a regular file")
        XCTAssertEqual(message("/dev/zero").0, "/dev/zero is not a regular file")
    }
}
