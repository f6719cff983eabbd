import Corestone
import XCTest

/// XML stores in Apple's format: the contents of the files. `AtomicFileTests` has the behaviour of all atomic file
/// stores.
final class XMLStoreTests: XCTestCase {
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "corestone-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private var path: String { folder + "/store.xml" }

    private func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    /// Folders of snippets, with a kind of folder that inherits.
    private func snippets() throws -> Model {
        let model = Model()
        let (folder, snippet) = (try model.addEntity(named: "Folder"), try model.addEntity(named: "Snippet"))
        let smart = try model.addEntity(named: "SmartFolder")
        try smart.setParent(folder)
        try folder.addAttribute(named: "title", type: .string)
        try folder.addAttribute(named: "isEnabled", type: .boolean)
        try smart.addAttribute(named: "predicate", type: .string)
        try snippet.addAttribute(named: "content", type: .string)
        try snippet.addAttribute(named: "index", type: .integer16)
        let snippets = try folder.addRelationship(named: "snippets", destination: snippet, isToMany: true)
        let parent = try snippet.addRelationship(named: "folder", destination: folder)
        try parent.setCounts(minimum: 1, maximum: 1)
        try snippets.setInverse(parent)
        let related = try snippet.addRelationship(named: "related", destination: snippet, isToMany: true)
        try related.setInverse(related)
        return model
    }

    private func open(_ model: Model? = nil) throws -> Context {
        let coordinator = try Coordinator(model: model ?? snippets())
        try coordinator.addStore(.xml, at: path)
        return Context(coordinator: coordinator)
    }

    private func failure(_ body: () throws -> Void, _ line: UInt = #line) -> CoreError? {
        var found: CoreError?
        XCTAssertThrowsError(try body(), line: line) { found = $0 as? CoreError }
        return found
    }

    // MARK: Contents of the file

    func testFileHasTheLayoutOfCoreData() throws {
        let context = try open()
        let folder = try context.insert(
            "SmartFolder", ["title": "a < b \\ \u{1F600}", "isEnabled": true, "predicate": "x"])
        try context.save()
        let first = try context.insert("Snippet", ["content": "one\r\n\ttwo\u{1}（", "index": -3, "folder": folder])
        try context.save()
        let second = try context.insert("Snippet", ["folder": folder])
        try first.add(second, to: "related")
        try context.save()
        let file = try text()
        XCTAssertTrue(
            file.hasPrefix(
                """
                <?xml version="1.0" standalone="yes"?>
                <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

                <database>
                    <databaseInfo>
                        <version>134481920</version>
                        <UUID>\(context.coordinator.stores[0].identifier)</UUID>
                        <nextObjectID>104</nextObjectID>
                        <metadata>
                            <plist version="1.0">
                                <dict>
                                    <key>CST_Model</key>

                """), file)
        let objects = try XCTUnwrap(file.range(of: "</databaseInfo>\n")).upperBound
        XCTAssertEqual(
            String(file[objects...]),
            #"""
                <object type="SMARTFOLDER" id="z102">
                    <attribute name="predicate" type="string">x</attribute>
                    <attribute name="title" type="string">a \u3c00 b \\ \u3dd8\u00de</attribute>
                    <attribute name="isenabled" type="bool">1</attribute>
                    <relationship name="snippets" type="0/0" destination="SNIPPET" idrefs="z103 z104"></relationship>
                </object>
                <object type="SNIPPET" id="z103">
                    <attribute name="index" type="int16">-3</attribute>
                    <attribute name="content" type="string">one\u0d00
            	two\u0100\u08ff</attribute>
                    <relationship name="folder" type="1/1" destination="FOLDER" idrefs="z102"></relationship>
                    <relationship name="related" type="0/0" destination="SNIPPET" idrefs="z104"></relationship>
                </object>
                <object type="SNIPPET" id="z104">
                    <relationship name="folder" type="1/1" destination="FOLDER" idrefs="z102"></relationship>
                    <relationship name="related" type="0/0" destination="SNIPPET" idrefs="z103"></relationship>
                </object>
            </database>
            """#)
        let other = try open()
        XCTAssertEqual(try other.fetch("Folder").first?.get("title"), "a < b \\ \u{1F600}")
        XCTAssertEqual(try other.fetch("Snippet", "index == -3").first?.get("content"), "one\r\n\ttwo\u{1}（")
    }

    func testObjectNumbersAreStableAndNotReused() throws {
        let context = try open()
        let folder = try context.insert("Folder", ["title": "a"])
        let snippets = try (0..<3).map { try context.insert("Snippet", ["index": $0, "folder": folder]) }
        try context.save()
        let uris = ([folder] + snippets).map(\.objectID.uri)
        XCTAssertEqual(Set(uris.map { $0.split(separator: "/").last }), ["p102", "p103", "p104", "p105"])
        let other = try open()
        for uri in uris { XCTAssertNotNil(try other.coordinator.objectID(forURI: uri)) }
        try other.delete(XCTUnwrap(try other.fetch("Snippet", sort: ["-index"]).first))
        try other.save()
        XCTAssertTrue(try text().contains("<nextObjectID>105</nextObjectID>"))
        let third = try open()
        let added = try third.insert("Folder")
        try third.save()
        XCTAssertTrue(added.objectID.uri.hasSuffix("/Folder/p106"), added.objectID.uri)
    }

    /// As `printf` of the C library writes them, which Core Data uses.
    func testDatesAreWrittenWithTwentyDecimals() throws {
        let model = Model()
        try model.addEntity(named: "Event").addAttribute(named: "at", type: .date)
        let context = try open(model)
        var dates: [Double] = [
            0, 1, -0.5, 387448838.073201, 0x1p-13, -0x1p62, 4503599627370495.5, 0.99999999999999988898,
        ]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            dates.append(Double.random(in: -7e10...7e10, using: &random))
            dates.append(Double(sign: .plus, exponent: .random(in: -12...60), significand: .random(in: 1..<2)))
        }
        for (place, date) in dates.enumerated() {
            let event = try context.insert("Event")
            try event.setValue(.date(date), forKey: "at")
            if place % 500 == 0 { try context.save() }
        }
        try context.save()
        let written = try text().components(separatedBy: "type=\"date\">").dropFirst().map {
            String($0.prefix { $0 != "<" })
        }
        XCTAssertEqual(Set(written), Set(dates.map { String(format: "%.20f", $0) }))
        XCTAssertEqual(try readDates(model), dates.sorted())
    }

    func testDatesThatNeedMoreThanTwentyDecimalsRoundTrip() throws {
        let model = Model()
        try model.addEntity(named: "Event").addAttribute(named: "at", type: .date)
        let dates = [5e-324, 1e-30, -1.1e-7, 1e300, -1.7976931348623157e308, 0x1p63]
        let context = try open(model)
        for date in dates { try context.insert("Event").setValue(.date(date), forKey: "at") }
        try context.save()
        XCTAssertEqual(try readDates(model), dates.sorted())
    }

    private func readDates(_ model: Model) throws -> [Double] {
        let context = try open(model)
        return try withExtendedLifetime(context) {
            try context.fetch("Event").compactMap { object -> Double? in
                if case .date(let seconds) = try object.value(forKey: "at") { seconds } else { nil }
            }.sorted()
        }
    }

    func testUnknownMetadataIsKept() throws {
        let context = try open()
        try context.insert("Folder", ["title": "a"])
        try context.save()
        let before = try text()
        var metadata = try StoreMetadata(ofStoreAt: path)
        let values: [String: PropertyListValue] = [
            "text": .string("a <b> & \r\n\t é"), "number": .integer(-5), "real": .real(0.1), "no": .bool(false),
            "empty": .array([]), "none": .dictionary([:]), "date": .date(86400),
            "deep": .dictionary([
                "data": .data([UInt8](repeating: 7, count: 200)), "list": .array([.string(""), .bool(true)]),
            ]),
        ]
        for (key, value) in values { metadata.values[key] = value }
        try metadata.write(toStoreAt: path)
        let after = try text()
        XCTAssertEqual(try StoreMetadata(ofStoreAt: path).applicationValues, values)
        // A save by an application that does not use these values keeps them.
        let again = try open()
        try again.fetch("Folder").first?.set("title", "b")
        try again.save()
        XCTAssertEqual(try StoreMetadata(ofStoreAt: path).applicationValues, values)
        try again.fetch("Folder").first?.set("title", "a")
        try again.save()
        XCTAssertEqual(try text(), after)
        // Foundation reads the same property list, and the rest of the file is unchanged.
        let start = try XCTUnwrap(after.range(of: "<plist")).lowerBound
        let end = try XCTUnwrap(after.range(of: "</plist>")).upperBound
        let list = try PropertyListSerialization.propertyList(from: Data(after[start..<end].utf8), format: nil)
        let found = try XCTUnwrap(list as? [String: Any])
        XCTAssertEqual(found["text"] as? String, "a <b> & \r\n\t é")
        XCTAssertEqual((found["deep"] as? [String: Any])?["data"] as? Data, Data(repeating: 7, count: 200))
        func rest(_ text: String) -> [String] {
            text.components(separatedBy: "<metadata>").first.map { [$0] }! + [
                text.components(separatedBy: "</metadata>")[1]
            ]
        }
        XCTAssertEqual(rest(before), rest(after))
        metadata.values["bad"] = .string("\u{1}")
        let error = failure { try metadata.write(toStoreAt: path) }
        XCTAssertTrue(error?.message.contains("U+0001") == true, "\(String(describing: error))")
        XCTAssertEqual(try text(), after)
    }

    func testReferencesToDeletedObjectsAreNotWritten() throws {
        let model = Model()
        let (a, b) = (try model.addEntity(named: "A"), try model.addEntity(named: "B"))
        let one = try a.addRelationship(named: "b", destination: b)
        try one.setDeleteRule(.noAction)
        let back = try b.addRelationship(named: "a", destination: a, isToMany: true)
        try back.setDeleteRule(.noAction)
        try one.setInverse(back)
        let context = try open(model)
        let target = try context.insert("B")
        try context.insert("A", ["b": target])
        try context.save()
        try context.delete(target)
        try context.save()
        let other = try open(model)
        XCTAssertEqual(try other.fetch("A").count, 1)
        XCTAssertEqual(try other.count("A", "b == nil"), 1)
    }

    func testEmptyStoreIsReadAfterReopening() throws {
        _ = try open()
        XCTAssertTrue(try text().contains("<nextObjectID>101</nextObjectID>"))
        XCTAssertTrue(try text().hasSuffix("    </databaseInfo>\n</database>"))
        XCTAssertEqual(try open().count("Folder"), 0)
    }
}
