import CorestoneValues
import XCTest

@testable import CorestoneModel

/// Unknown content of a source model is kept when other content changes.
final class SourceChangeTests: XCTestCase {
    private static let source = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
            <entity name="A" syncable="YES">
                <attribute name="n" optional="YES" attributeType="Integer 16"/>
                <attribute name="x" optional="YES" attributeType="String">
                    <userInfo ux="1">
                        <entry key="b" value="2" e="9"/>
                        <remark/>
                        <entry key="a" value="1"/>
                    </userInfo>
                </attribute>
                <fetchedProperty name="f" optional="YES">
                    <fetchRequest name="fetchedPropertyFetchRequest" entity="B" fr="1"/>
                </fetchedProperty>
                <fetchIndex name="i1" fi="1">
                    <fetchIndexElement property="x" type="Binary" order="ascending" fie="1"/>
                    <fetchIndexElement property="n" type="Binary" order="descending"/>
                </fetchIndex>
                <uniquenessConstraints uc="1">
                    <uniquenessConstraint u="1">
                        <constraint value="x" c="1"/>
                    </uniquenessConstraint>
                </uniquenessConstraints>
                <userInfo ex="1"/>
            </entity>
            <entity name="B" syncable="YES"/>
            <fetchRequest name="r1" entity="A" fetchLimit="5" frx="1"/>
            <configuration name="Cfg" usedWithCloudKit="YES" cx="1">
                <memberEntity name="A" mx="1"/>
                <memberEntity name="B"/>
            </configuration>
        </model>
        """

    /// The removed and added lines of a change, without indentation.
    private func lines(_ change: (Model) throws -> Void) throws -> (removed: [String], added: [String]) {
        let model = try Model(sourceModel: Array(SourceChangeTests.source.utf8))
        func lines() throws -> [String] {
            String(decoding: try model.source(), as: UTF8.self).split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        let former = try lines()
        XCTAssertEqual(former.count, SourceChangeTests.source.split(separator: "\n").count)
        try change(model)
        let now = try lines()
        let again = try Model(sourceModel: try model.source())
        XCTAssertEqual(try again.source(), try model.source(), "the written source is read back unchanged")
        var (removed, added) = ([String](), [String]())
        for change in now.difference(from: former) {
            switch change {
            case .remove(_, let line, _): removed.append(line)
            case .insert(_, let line, _): added.append(line)
            }
        }
        return (removed.reversed(), added)
    }

    private func a(_ model: Model) throws -> Entity { try model.requireEntity(named: "A") }

    private func attribute(_ model: Model) throws -> Property {
        try XCTUnwrap(try a(model).ownProperties.first { $0.name == "x" })
    }

    func testRenamingAnEntityKeepsUnknownContent() throws {
        let (removed, added) = try lines { try self.a($0).rename(to: "AA") }
        XCTAssertEqual(removed.count, 3)
        XCTAssertEqual(
            added.suffix(2),
            [#"<fetchRequest name="r1" entity="AA" fetchLimit="5" frx="1"/>"#, #"<memberEntity name="AA" mx="1"/>"#])
    }

    func testRenamingAnAttributeKeepsUnknownContent() throws {
        let (removed, added) = try lines { try self.attribute($0).rename(to: "xx") }
        XCTAssertEqual(removed.count, 3)
        XCTAssertEqual(
            added.suffix(2),
            [
                #"<fetchIndexElement property="xx" type="Binary" order="ascending" fie="1"/>"#,
                #"<constraint value="xx" c="1"/>"#,
            ])
    }

    func testChangingUserInfoKeepsUnknownContent() throws {
        var change = try lines { try self.attribute($0).setUserInfo("5", forKey: "b") }
        XCTAssertEqual(change.removed, [#"<entry key="b" value="2" e="9"/>"#])
        XCTAssertEqual(change.added, [#"<entry key="b" value="5" e="9"/>"#])
        change = try lines { try self.attribute($0).setUserInfo("3", forKey: "c") }
        XCTAssertEqual(change.removed, [])
        XCTAssertEqual(change.added, [#"<entry key="c" value="3"/>"#])
        change = try lines { try self.attribute($0).setUserInfo(nil, forKey: "a") }
        XCTAssertEqual(change.removed, [#"<entry key="a" value="1"/>"#])
        XCTAssertEqual(change.added, [])
        // A new entry does not inherit unknown attributes of a removed entry.
        change = try lines {
            try self.attribute($0).setUserInfo(nil, forKey: "b")
            try self.attribute($0).setUserInfo("3", forKey: "c")
        }
        XCTAssertEqual(change.removed, [#"<entry key="b" value="2" e="9"/>"#])
        XCTAssertEqual(change.added, [#"<entry key="c" value="3"/>"#])
        change = try lines { try self.a($0).setUserInfo("1", forKey: "k") }
        XCTAssertEqual(change.added, [#"<userInfo ex="1">"#, #"<entry key="k" value="1"/>"#, "</userInfo>"])
    }

    func testChangingConstraintsKeepsUnknownContent() throws {
        var change = try lines { try self.a($0).addUniqueConstraint(["n"]) }
        XCTAssertEqual(change.removed, [])
        XCTAssertEqual(
            change.added, ["<uniquenessConstraint>", #"<constraint value="n"/>"#, "</uniquenessConstraint>"])
        change = try lines {
            try self.a($0).addUniqueConstraint(["n"])
            try self.attribute($0).rename(to: "xx")
        }
        XCTAssert(change.added.contains(#"<constraint value="xx" c="1"/>"#))
    }

    func testChangingRequestsAndConfigurationsKeepsUnknownContent() throws {
        var change = try lines { model in
            var template = try XCTUnwrap(model.fetchRequestTemplates["r1"])
            template.limit = 6
            try model.setFetchRequestTemplate(template, forName: "r1")
        }
        XCTAssertEqual(change.added, [#"<fetchRequest name="r1" entity="A" fetchLimit="6" frx="1"/>"#])
        change = try lines {
            try $0.setConfiguration(ModelConfiguration(name: "Cfg", entityNames: ["A"], isUsedWithCloudKit: true))
        }
        XCTAssertEqual(change.removed, [#"<memberEntity name="B"/>"#])
        XCTAssertEqual(change.added, [])
        // A changed order of the model is written.
        change = try lines {
            try $0.setConfiguration(ModelConfiguration(name: "Cfg", entityNames: ["B", "A"], isUsedWithCloudKit: true))
        }
        XCTAssertEqual(change.removed.count, 1)
        change = try lines { try $0.requireEntity(named: "B").rename(to: "BB") }
        XCTAssert(
            change.added.contains(#"<fetchRequest name="fetchedPropertyFetchRequest" entity="BB" fr="1"/>"#))
    }

    func testVersionIdentifierReplacesTheEmptyOne() throws {
        let (_, added) = try lines { try $0.addVersionIdentifier("v3") }
        XCTAssertEqual(added.count, 1)
        XCTAssert(added[0].contains(#"userDefinedModelVersionIdentifier="v3""#), added[0])
    }
}
