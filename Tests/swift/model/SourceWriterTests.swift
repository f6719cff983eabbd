import CorestoneValues
import Foundation
import XCTest

@testable import CorestoneModel

/// Writing of source models that were read.
final class SourceWriterTests: XCTestCase {
    private func text(_ model: Model) throws -> String { String(decoding: try model.source(), as: UTF8.self) }
    private func read(_ text: String) throws -> Model { try Model(sourceModel: Array(text.utf8)) }

    /// Every source model among the fixtures, by path.
    static func fixtures() throws -> [(path: String, bytes: [UInt8])] {
        let root = try Fixtures.folder().appendingPathComponent("source-models")
        let all = FileManager.default.enumerator(atPath: root.path)?.allObjects as? [String] ?? []
        return try all.filter { $0.hasSuffix("/contents") }.sorted().map {
            ($0, Array(try Data(contentsOf: root.appendingPathComponent($0))))
        }
    }

    func testFixturesRoundTripWithoutDifferences() throws {
        var (count, equal) = (0, 0)
        var others: [String] = []
        for (path, bytes) in try SourceWriterTests.fixtures() {
            let model = try Model(sourceModel: bytes)
            let written = try model.source()
            count += 1
            XCTAssertEqual(try model.copy().source(), written, path)
            XCTAssertEqual(try ModelSummary.of(Model(sourceModel: written)), try ModelSummary.of(model), path)
            let difference = try XCTUnwrap(XMLNode.parse(bytes)).difference(
                from: try XCTUnwrap(XMLNode.parse(written)))
            XCTAssertNil(difference, path)
            if written == bytes {
                equal += 1
            } else {
                others.append("\(path): \(firstDifference(bytes, written))")
            }
        }
        print("source models written back: \(count), byte for byte the same \(equal)")
        for other in others { print("  " + other) }
        XCTAssertGreaterThan(count, 300)
        XCTAssertGreaterThanOrEqual(equal, count - 4)
    }

    func testUnchangedElementsKeepTheirText() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="14460.32" \
            systemVersion="18F132" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">
                <entity name="Alpha" representedClassName="Alpha" syncable="YES" codeGenerationType="class">
                    <attribute name="age" optional="YES" attributeType="Integer 16" defaultValueString="0" \
            usesScalarValueType="YES"/>
                    <attribute name="name" attributeType="String" minValueString="1" maxValueString="20"/>
                    <relationship name="zetas" optional="YES" toMany="YES" deletionRule="Cascade" \
            destinationEntity="Zeta" inverseName="alpha" inverseEntity="Zeta"/>
                    <fetchIndex name="byAge">
                        <fetchIndexElement property="age" type="Binary" order="descending"/>
                    </fetchIndex>
                    <userInfo>
                        <entry key="b" value="2"/>
                        <entry key="a" value="1 &lt; 2"/>
                    </userInfo>
                </entity>
                <entity name="Zeta" representedClassName="Zeta" syncable="YES" codeGenerationType="class">
                    <relationship name="alpha" optional="YES" maxCount="1" deletionRule="Nullify" \
            destinationEntity="Alpha" inverseName="zetas" inverseEntity="Alpha"/>
                </entity>
                <elements>
                    <element name="Alpha" positionX="-63" positionY="-18" width="128" height="89"/>
                    <element name="Zeta" positionX="9" positionY="0" width="128" height="59"/>
                </elements>
            </model>
            """
        let model = try read(text)
        XCTAssertEqual(try self.text(model), text)
        let new = try model.addEntity(named: "Middle")
        try new.addAttribute(named: "flag", type: .boolean).setDefaultValue(.bool(true))
        let alpha = try model.requireEntity(named: "Alpha")
        try alpha.addAttribute(named: "birth", type: .date, isOptional: false)
        try alpha.ownAttributes[0].setDefaultValue(.int(18))
        try alpha.setUserInfo("3", forKey: "c")
        let lines = try self.text(model).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let former = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let changed = lines.difference(from: former)
        let added = changed.insertions.compactMap { change -> String? in
            if case .insert(_, let line, _) = change { line } else { nil }
        }
        XCTAssertEqual(
            Set(added),
            [
                #"<attribute name="age" optional="YES" attributeType="Integer 16" defaultValueString="18" usesScalarValueType="YES"/>"#,
                #"<attribute name="birth" attributeType="Date"/>"#,
                #"<entity name="Middle" syncable="YES">"#,
                #"<attribute name="flag" optional="YES" attributeType="Boolean" defaultValueString="YES"/>"#,
                "</entity>",
                #"<entry key="c" value="3"/>"#,
                #"<element name="Middle" positionX="0" positionY="0" width="128" height="59"/>"#,
            ])
        XCTAssertEqual(changed.removals.count, 1, "only the attribute is replaced")
        let names = lines.filter { $0.hasPrefix("<entity") }.map { $0.split(separator: "\"")[1] }
        XCTAssertEqual(names, ["Alpha", "Middle", "Zeta"], "new entities are inserted by name")
        XCTAssertEqual(try self.text(read(self.text(model))), try self.text(model))
    }

    func testUnknownElementsAreWrittenInTheirPosition() throws {
        let text = """
            <model xmlns:x="urn:x" future="1" userDefinedModelVersionIdentifier="2,2">
                <x:first kind="a">text <b>bold</b> more &amp; &lt;raw&gt;<empty/></x:first>
                <entity name="A" isAbstract="maybe" syncable="NO" x:mark="1">
                    <note n="&quot;1&quot;&#10;"/>
                    <attribute name="n" optional="perhaps" attributeType="Integer 16" minValueString="low" novel="1">
                        <userInfo color="red">
                            <entry key="a" value="1"/>
                            <entry key="a" value="2"/>
                        </userInfo>
                        <note/>
                    </attribute>
                    <attribute name="e" transient="NO" attributeType="Double" defaultValueString="0"/>
                    <x:between/>
                    <relationship name="r" optional="1" maxCount="many" deletionRule="Explode" destinationEntity="A" \
            inverseName="gone"/>
                    <fetchedProperty name="f" optional="YES">
                        <fetchRequest name="own" entity="A" includeSubentities="YES"/>
                        <fetchRequest name="second" entity="A"/>
                    </fetchedProperty>
                    <fetchIndex name="i" hint="1">
                        <fetchIndexElement property="n" type="Hash" order="ascending"/>
                    </fetchIndex>
                    <userInfo/>
                </entity>
                <fetchRequest name="q" entity="A" fetchLimit="-1" resultType="9"/>
                <fetchRequest name="q" entity="B"/>
                <composite name="Unused" note="1">
                    <attribute name="y" attributeType="Double"/>
                </composite>
                <elements/>
            </model>
            """
        let head = #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"# + "\n"
        let model = try read(head + text)
        let written = try self.text(model)
        let difference = try XCTUnwrap(XMLNode.parse(Array((head + text).utf8))).difference(
            from: try XCTUnwrap(XMLNode.parse(Array(written.utf8))))
        XCTAssertEqual(difference, "<model > in [\"documentVersion\", \"type\"]")
        XCTAssertEqual(written.split(separator: "\n").count, text.split(separator: "\n").count + 1)
    }

    func testWritingFailsForContentThatASourceCannotRepresent() throws {
        let model = try SampleModels.everything().copy()
        let entity = try model.addEntity(named: "Run")
        try entity.addAttribute(named: "processID", type: .integer32).addValidation(
            PredicateText("SELF > 0"), warning: "Process ID < 1")
        try entity.addAttribute(named: "blob", type: .binary).setDefaultValue(.bytes(Bytes([1])))
        for loss in ["the validation predicate \"SELF > 0\" of Run.processID", "the default value of Run.blob"] {
            XCTAssert(model.sourceLosses.contains(loss), loss)
        }
        XCTAssertThrowsError(try model.source()) { error in
            XCTAssertEqual((error as? CoreError)?.status, .model)
        }
        XCTAssertEqual(
            try read(String(decoding: model.source(isLossy: true), as: UTF8.self)).entities.count, model.entities.count)
        let odd = Model()
        try odd.addEntity(named: "A").setUserInfo("\u{1}", forKey: "k")
        XCTAssertThrowsError(try odd.source())
        let wrong = Model()
        XCTAssertThrowsError(try wrong.addEntity(named: "no name"))
        XCTAssertThrowsError(try wrong.source(), "the model keeps its first error")
    }

    private func firstDifference(_ one: [UInt8], _ two: [UInt8]) -> String {
        let place = zip(one, two).enumerated().first { $1.0 != $1.1 }?.offset ?? min(one.count, two.count)
        func part(_ bytes: [UInt8]) -> String {
            String(decoding: bytes[max(0, place - 30)..<min(bytes.count, place + 50)], as: UTF8.self)
        }
        return "at byte \(place): \(part(one).debugDescription) became \(part(two).debugDescription)"
    }
}

extension XMLNode {
    /// The first difference of two elements; the order of attributes is ignored.
    func difference(from other: XMLNode) -> String? {
        if name != other.name { return "<\(name)> and <\(other.name)>" }
        if attributes != other.attributes {
            let names = Set(attributes.keys).union(other.attributes.keys).filter {
                attributes[$0] != other.attributes[$0]
            }
            return "<\(name) \(attributes["name"] ?? "")> in \(names.sorted())"
        }
        if children.count != other.children.count { return "<\(name) \(attributes["name"] ?? "")> in its elements" }
        return zip(children, other.children).lazy.compactMap { $0.difference(from: $1) }.first
    }
}
