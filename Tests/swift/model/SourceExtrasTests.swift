import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// No content of a source model is lost: the model understands it, or keeps it in its position.
final class SourceExtrasTests: XCTestCase {
    private func accounting(_ text: String) throws -> (SourceAccounting, Model) {
        let bytes = Array(text.utf8)
        let model = try Model(sourceModel: bytes)
        return (SourceAccounting(try XCTUnwrap(XMLNode.parse(bytes)), readAs: model), model)
    }

    func testNoContentOfTheFixturesIsLost() throws {
        let root = try Fixtures.folder().appendingPathComponent("source-models")
        let all = FileManager.default.enumerator(atPath: root.path)?.allObjects as? [String] ?? []
        var (files, understood, kept, lost) = (0, 0, 0, [String]())
        for path in all.sorted() where path.hasSuffix("/contents") {
            let bytes = Array(try Data(contentsOf: root.appendingPathComponent(path)))
            let node = try XCTUnwrap(XMLNode.parse(bytes), path)
            let accounting = SourceAccounting(node, readAs: try Model(sourceModel: bytes))
            files += 1
            understood += accounting.understood
            kept += accounting.kept
            lost += accounting.lost.map { "\(path): \($0)" }
        }
        print(
            "elements and attributes of \(files) source models: \(understood) understood, \(kept) kept, \(lost.count) lost"
        )
        XCTAssertEqual(lost, [])
        XCTAssertGreaterThan(files, 300)
        XCTAssertGreaterThan(kept, 1000)
    }

    func testUnknownContentIsKeptOnEveryLevel() throws {
        let (accounting, model) = try accounting(
            """
            <model xmlns:x="urn:x" userDefinedModelVersionIdentifier="2,2" future="1">
              <x:first kind="a">text <b>bold</b> more<![CDATA[ & <raw>]]><empty/></x:first>
              <entity name="A" syncable="YES" x:mark="1" isAbstract="maybe" representedClassName="">
                <attribute name="n" attributeType="Integer 16" optional="perhaps" minValueString="low" novel="1">
                  <userInfo color="red"><entry key="a" value="1"/><entry key="a" value="2"/></userInfo>
                  <note>of an attribute</note>
                </attribute>
                <attribute name="d" attributeType="String" derived="YES" indexed="YES"/>
                <attribute name="at" optional="YES" attributeType="Composite" composite="Point"/>
                <relationship name="r" optional="YES" maxCount="many" minCount="-1" ordered="YES" deletionRule="Explode"
                    destinationEntity="B" inverseName="gone" inverseEntity="C" indexed="YES"><deep><er k="v"/></deep>
                </relationship>
                <relationship name="b" optional="YES" toMany="YES" destinationEntity="B" inverseName="a" inverseEntity="B"/>
                loose text
                <fetchedProperty name="f" optional="YES">
                  <fetchRequest name="own" entity="B" sortKey="x"/>
                  <fetchRequest name="second" entity="B"/>
                </fetchedProperty>
                <fetchedProperty name="g" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="B"/>
                </fetchedProperty>
                <fetchIndex name="i" hint="1"><fetchIndexElement property="n" type="Hash" order="ascending"/></fetchIndex>
                <fetchIndex name="j"><fetchIndexElement property="n" type="Binary" order="ascending"/><comment/></fetchIndex>
                <fetchIndex name="k"><fetchIndexElement property="n" type="Binary" order="descending"/></fetchIndex>
                <uniquenessConstraints><uniquenessConstraint name="u"><constraint value="n"/></uniquenessConstraint>
                </uniquenessConstraints>
                <compoundIndexes><compoundIndex><index value="n" order="up"/></compoundIndex></compoundIndexes>
                <userInfo><entry key="k" value="v" type="t"/></userInfo>
              </entity>
              <entity name="B"><relationship name="a" optional="YES" maxCount="1" destinationEntity="A" inverseName="b"
                  inverseEntity="A"/></entity>
              <fetchRequest name="q" entity="A" fetchLimit="-1" resultType="9"/>
              <fetchRequest name="q" entity="B"/>
              <fetchRequest name="p" entity="A" includeSubentities="NO"/>
              <configuration name="c" usedWithCloudKit="if possible"><memberEntity name="A"/></configuration>
              <configuration name="c"><memberEntity name="B"/></configuration>
              <configuration name="e"><memberEntity name="B" role="x"/><other/></configuration>
              <composite name="Point"><attribute name="x" attributeType="Double" unit="m"/></composite>
              <composite name="Unused" note="1"><attribute name="y" attributeType="Double"/></composite>
              <elements><element name="A" positionX="0" positionY="9"/></elements>
            </model>
            """)
        XCTAssertEqual(accounting.lost, [])
        XCTAssertEqual(
            model.extras.attributes, ["xmlns:x": "urn:x", "future": "1", "userDefinedModelVersionIdentifier": "2,2"])
        let first = try XCTUnwrap(model.extras.elements.first)
        XCTAssertEqual(first.name, "x:first")
        XCTAssertEqual(first.elements.map(\.name), ["", "b", "", "empty"])
        XCTAssertEqual(first.elements.map(\.text), ["text ", "", " more & <raw>", ""])
        XCTAssertEqual(first.elements[1].elements, [SourceElement(text: "bold")])
        XCTAssertEqual(model.extras.elements.map(\.place), [0, 3, 4, 6, 7, 8, 10, 11])
        let entity = try model.requireEntity(named: "A")
        XCTAssertEqual(entity.extras.attributes, ["syncable": "YES", "x:mark": "1", "isAbstract": "maybe"])
        XCTAssertEqual(
            entity.extras.elements.map(\.name),
            ["", "fetchIndex", "fetchIndex", "uniquenessConstraints", "compoundIndexes", "userInfo"])
        XCTAssertEqual(entity.extras.elements.map(\.place), [5, 8, 9, 11, 12, 13])
        XCTAssertEqual(entity.indexes.map(\.name).sorted(), ["d", "i", "j", "k", "n", "n"])
        XCTAssertEqual(entity.userInfo, ["k": "v"], "known content of a kept element is read too")
        let attribute = entity.ownAttributes[0]
        XCTAssertEqual(attribute.userInfo, ["a": "1"])
        XCTAssertEqual(attribute.extras.elements.map(\.name), ["userInfo", "note"])
        XCTAssertEqual(attribute.extras.attributes, ["optional": "perhaps", "minValueString": "low", "novel": "1"])
        XCTAssertEqual(entity.ownAttributes[2].elements[0].extras.attributes, ["unit": "m"])
        let relationship = try XCTUnwrap(entity.ownRelationships.first)
        XCTAssertEqual(
            Set(relationship.extras.attributes.keys),
            ["maxCount", "minCount", "ordered", "deletionRule", "inverseName", "inverseEntity", "indexed"])
        XCTAssertEqual(entity.ownRelationships[1].extras, SourceExtras())
        XCTAssertEqual(entity.ownFetchedProperties[0].extras.elements.map(\.attributes["name"]), ["own", "second"])
        XCTAssertEqual(entity.ownFetchedProperties[1].extras, SourceExtras())
    }

    func testSummaryIncludesUnknownContent() throws {
        let model = try Model(
            sourceModel: Array("<model><entity name='A'><new a='1'>x<y/></new></entity></model>".utf8))
        guard case .dictionary(let fields) = model.summary, case .array(let entities)? = fields["entities"],
            case .dictionary(let entity)? = entities.first
        else { return XCTFail("no entity") }
        XCTAssertEqual(
            entity["extras"],
            .dictionary([
                "elements": .array([
                    .dictionary([
                        "name": .string("new"), "place": .int(0), "attributes": .dictionary(["a": .string("1")]),
                        "elements": .array([
                            .dictionary(["place": .int(0), "text": .string("x")]),
                            .dictionary(["place": .int(1), "name": .string("y")]),
                        ]),
                    ])
                ])
            ]))
    }

    /// Files with very many elements that are looked up by name.
    func testRepeatedElementsAreReadInLinearTime() throws {
        let forms: [(head: String, part: (Int) -> String, tail: String)] = [
            ("<model>", { "<configuration name='c\($0)'/>" }, "</model>"),
            ("<model>", { "<fetchRequest name='c\($0)' entity='A'/>" }, "</model>"),
            ("<model userDefinedModelVersionIdentifier='", { "\($0)," }, "'/>"),
            ("<model><entity name='A'>", { "<userInfo><entry key='k\($0)'/></userInfo>" }, "</entity></model>"),
            ("<model><entity name='A'>", { "t<userInfo n='1'><entry key='k\($0)'/></userInfo>" }, "</entity></model>"),
            ("<model>", { "<composite name='c\($0)'/>" }, "</model>"),
        ]
        for form in forms {
            try assertLinearTime(upTo: 8_000) { count in
                _ = try Model(sourceModel: Array((form.head + (0..<count).map(form.part).joined() + form.tail).utf8))
            }
        }
    }
}
