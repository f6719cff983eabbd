import CorestoneFormats
@testable import CorestoneModel
import CorestoneValues
import Foundation
import XCTest

/// Localised names of entities and properties.
final class LocalizationTests: FolderTestCase {
    func testMoreSpecificLocalizationKeyIsUsed() throws {
        let model = Model()
        let (base, child) = (try model.addEntity(named: "Base"), try model.addEntity(named: "Child"))
        let grandchild = try model.addEntity(named: "Grandchild")
        try child.setParent(base)
        try grandchild.setParent(child)
        let name = try base.addAttribute(named: "name", type: .string)
        func words() -> [String] { [base, child, grandchild].map { name.localizedName(in: $0) } }
        XCTAssertEqual(words(), ["name", "name", "name"])
        try model.setLocalization("any", forKey: "Property/name")
        XCTAssertEqual(words(), ["any", "any", "any"])
        try model.setLocalization("base", forKey: "Property/name/Entity/Base")
        XCTAssertEqual(words(), ["base", "base", "base"])
        try model.setLocalization("child", forKey: "Property/name/Entity/Child")
        XCTAssertEqual(words(), ["base", "child", "child"])
        try model.setLocalization(nil, forKey: "Property/name/Entity/Base")
        XCTAssertEqual(words(), ["any", "child", "child"])
        XCTAssertEqual([base.localizedName, child.localizedName], ["Base", "Child"])
        try model.setLocalization("Basis", forKey: "Entity/Base")
        XCTAssertEqual([base.localizedName, child.localizedName], ["Basis", "Child"])
        XCTAssertEqual(model.localizedError("too long"), "too long")
        try model.setLocalization("zu lang", forKey: "ErrorString/too long")
        XCTAssertEqual(model.localizedError("too long"), "zu lang")
        XCTAssertEqual(model.localizedError("too short"), "too short")
    }

    func testLoadedStringsReplaceEntriesWithTheirKeys() throws {
        try put("\"Entity/A\" = \"new\"; \"Entity/B\" = \"B\";", "a.strings")
        let model = try model("A")
        try model.setLocalization("old", forKey: "Entity/A")
        try model.setLocalization("stays", forKey: "Entity/C")
        try model.loadStrings(path("a.strings"))
        XCTAssertEqual(model.localization, ["Entity/A": "new", "Entity/B": "B", "Entity/C": "stays"])
        XCTAssertEqual(message(.storeIO) { try model.loadStrings(path("none")) }.hasPrefix(path("none")), true)
        try put("\"a", "bad.strings")
        XCTAssertEqual(message(.model) { try model.loadStrings(path("bad.strings")) }.hasPrefix(path("bad")), true)
    }

    func testLocalizationIsFoundInLanguageFolders() throws {
        try model("A").write(to: path("M.mom"))
        let model = try model("A")
        func word(_ languages: String...) throws -> String? {
            try model.setLocalization(nil, forKey: "Entity/A")
            return try model.loadStrings(besideModel: path("M.mom"), languages: languages)
                ? model.localization["Entity/A"] : nil
        }
        XCTAssertNil(try word("de"))
        // Each added folder takes precedence over the former ones.
        for (folder, languages) in [
            ("English.lproj", []), ("en.lproj", []), ("Base.lproj", []), ("", []), ("German.lproj", ["de_CH@euro"]),
            ("de.lproj", ["de_CH.UTF-8"]), ("de-CH.lproj", ["de_CH"]), ("de_CH.lproj", ["de-CH"]),
        ] as [(String, [String])] {
            try files.createDirectory(atPath: path(folder), withIntermediateDirectories: true)
            try put("\"Entity/A\" = \"\(folder)\";", folder + "/MModel.strings")
            XCTAssertEqual(try word(languages.first ?? "sv"), folder)
        }
        XCTAssertEqual(try word("fr", "de"), "de.lproj")
        XCTAssertEqual(try word("fr"), "")
        for (folder, language) in [
            ("zh-Hant.lproj", "zh_HK"), ("zh-Hant.lproj", "zh_MO"), ("zh-Hant.lproj", "zh-Hant"),
            ("zh-Hans.lproj", "zh_SG"),
        ] {
            try files.createDirectory(atPath: path(folder), withIntermediateDirectories: true)
            try put("\"Entity/A\" = \"\(folder)\";", folder + "/MModel.strings")
            XCTAssertEqual(try word(language), folder, language)
        }
    }

    func testUserLanguagesFollowTheEnvironment() {
        let names = ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"]
        let former = names.map { name in getenv(name).map { String(cString: $0) } }
        defer {
            for (name, value) in zip(names, former) {
                if let value { setenv(name, value, 1) } else { unsetenv(name) }
            }
        }
        for (values, expected) in [
            (["", "", "", ""], []), (["", "", "", "de_DE.UTF-8"], ["de_DE.UTF-8"]), (["", "", "fr", "de"], ["fr"]),
            (["", "it", "fr", "de"], ["it"]), (["sv:C:nb", "", "", "de"], ["sv", "nb", "de"]),
            (["sv", "C", "", "de"], []), (["sv", "", "POSIX", "de"], []), (["sv", "", "", "C.UTF-8"], []),
            (["sv", "", "", ""], []),
        ] {
            for (name, value) in zip(names, values) { setenv(name, value, 1) }
            XCTAssertEqual(Model.userLanguages, expected, "\(values)")
        }
    }

    func testStringsFileEscapesAreRead() throws {
        for (text, value) in [
            (#"\a\b\f\v\r"#, "\u{7}\u{8}\u{C}\u{B}\r"), (#"\0"#, "\0"), (#"\1018"#, "A8"), (#"\x"#, "x"), (#"\'"#, "'"),
            (#"\u41"#, "A"), (#"\U0041B"#, "AB"), (#"\ud83d\ude00"#, "😀"),
        ] {
            XCTAssertEqual(
                try decodeStringsFile(Array("k = \"\(text)\";".utf8)), ["k": value], text)
        }
        for (text, line) in [
            ("\n\nk = \"\\ud83dx\";", 3), ("a = b;\nk = ;", 2), ("a = b;\rk = ;", 2), ("\r\n\r\nk = ;", 3), ("k", 1),
        ] {
            XCTAssertThrowsError(try decodeStringsFile(Array(text.utf8)), text) {
                XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
                XCTAssertEqual(($0 as? CoreError)?.message.hasSuffix("(in line \(line))"), true, "\($0)")
            }
        }
        XCTAssertEqual(
            try decodeStringsFile(Array("a=1;a='2';b/c.d:e-f$_=x1;//end".utf8)), ["a": "2", "b/c.d:e-f$_": "x1"])
    }
}
