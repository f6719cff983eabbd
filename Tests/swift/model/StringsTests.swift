import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

/// `<Model>Model.strings`: localised names of model elements.
final class StringsTests: XCTestCase {
    private func decode(_ text: String, _ encoding: String.Encoding = .utf8) throws -> [String: String] {
        try decodeStringsFile(Array(try XCTUnwrap(text.data(using: encoding))))
    }

    private let sample = """
        /* A comment, "with" = "an entry"; */
        "Entity/Run" = "Lauf"; // and another
        "Property/date/Entity/Run"="Datum" ;
        'single' = 'it is "so"';
        bare.key_1 = Value;
        "alone";
        "escapes" = "a\\"b\\\\c\\n\\t\\U00e9\\u4e2d\\UD83D\\uDE00\\101";
        """
    private let entries = [
        "Entity/Run": "Lauf", "Property/date/Entity/Run": "Datum", "single": #"it is "so""#, "bare.key_1": "Value",
        "alone": "alone", "escapes": "a\"b\\c\n\té中😀A",
    ]

    func testEveryFormAndEncodingIsRead() throws {
        for encoding in [String.Encoding.utf8, .utf16, .utf16LittleEndian, .utf16BigEndian] {
            XCTAssertEqual(try decode(sample, encoding), entries, "\(encoding)")
        }
        XCTAssertEqual(try decode("\u{FEFF}" + sample), entries)
        let list = PropertyListValue.dictionary(entries.mapValues { .string($0) })
        XCTAssertEqual(try decodeStringsFile(encodePropertyList(list)), entries)
        XCTAssertEqual(try decodeStringsFile(encodeXMLPropertyList(list)), entries)
        XCTAssertEqual(try decode(""), [:])
        XCTAssertEqual(try decode("  /* nothing */ "), [:])
    }

    func testErrorNamesTheDefect() throws {
        for (text, words) in [
            ("\"a\" = \"b\"", "semicolon"), ("\"a", "unterminated string"), ("\"a\" = ;", "where a string is expected"),
            ("/* a", "unterminated comment"), ("\"a\" = \"\\uD83D\";", "unpaired surrogate"),
            ("= \"a\";", "string is expected"),
            ("\"a\" = \"\\", "ends after a backslash"), ("\"a\" =", "ends where"),
        ] {
            XCTAssertThrowsError(try decode(text), text) { error in
                let message = (error as? CoreError)?.message ?? ""
                XCTAssert(message.contains(words), "\(text): \(message)")
            }
        }
        XCTAssertThrowsError(try decodeStringsFile([0x22, 0xFF, 0xC0, 0x22]))
        XCTAssertThrowsError(try decodeStringsFile([0xFF, 0xFE, 0x22]))
    }

    /// Every damage of the bytes results in strings or an error.
    func testDamagedBytesAreReadOrRejected() throws {
        var generator = SeededGenerator(state: 7)
        for bytes in [Array(sample.utf8), Array(try XCTUnwrap(sample.data(using: .utf16)))] {
            for _ in 0..<400 {
                var damaged = bytes
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    damaged[Int.random(in: 0..<damaged.count, using: &generator)] = .random(
                        in: 0...255, using: &generator)
                }
                _ = try? decodeStringsFile(Array(damaged.prefix(.random(in: 0...damaged.count, using: &generator))))
            }
        }
    }

    func testStringsOfTheUserLanguageAreChosen() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ name: String, _ text: String) throws {
            let file = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("\"Entity/Run\" = \"\(text)\";".utf8).write(to: file)
        }
        for (name, text) in [
            ("de.lproj", "Lauf"), ("zh-Hans.lproj", "跑步"), ("zh-Hant.lproj", "跑步 (繁)"), ("pt_BR.lproj", "Corrida"),
            ("English.lproj", "Run!"), ("French.lproj", "Course"),
        ] { try write("\(name)/ExercisesModel.strings", text) }
        let path = folder.appendingPathComponent("Exercises.xcdatamodeld").path
        let model = Model()
        try model.addEntity(named: "Run")
        try model.write(to: path)
        func word(_ languages: String...) throws -> String? {
            let model = try Model(contentsOf: path)
            try model.loadStrings(besideModel: path, languages: languages)
            return model.localization["Entity/Run"]
        }
        XCTAssertEqual(try word("de_AT.UTF-8"), "Lauf")
        XCTAssertEqual(try word("zh_CN"), "跑步")
        XCTAssertEqual(try word("zh-TW"), "跑步 (繁)")
        XCTAssertEqual(try word("pt-BR"), "Corrida")
        XCTAssertEqual(try word("fr"), "Course")
        XCTAssertEqual(try word("sv", "de"), "Lauf", "the next available language")
        XCTAssertEqual(try word("sv"), "Run!", "English if no other language is available")
        XCTAssertEqual(try word("../de"), "Run!")
        try write("ExercisesModel.strings", "beside")
        XCTAssertEqual(try word("sv"), "beside")
        try Data("\"a".utf8).write(to: folder.appendingPathComponent("de.lproj/ExercisesModel.strings"))
        XCTAssertThrowsError(try word("de")) { error in
            XCTAssertEqual((error as? CoreError)?.file?.hasSuffix("de.lproj/ExercisesModel.strings"), true)
        }
    }
}
