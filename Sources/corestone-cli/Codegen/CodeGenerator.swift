import Corestone

/// Writes the code of a model in one language.
protocol CodeGenerator: SendableMetatype {
    init(_ model: GeneratedModel)
    var files: [GeneratedFile] { get }
}

/// A file of generated code.
struct GeneratedFile {
    let name: String
    let text: String
    /// Whether people change it: it is written once.
    let isForPeople: Bool

    init(_ name: String, _ lines: [String], isForPeople: Bool = false) {
        self.name = name
        text = lines.map { $0 + "\n" }.joined()
        self.isForPeople = isForPeople
    }
}

extension GeneratedFile {
    /// What stands on top of files that people leave alone.
    static let warning = "Written by `corestone model codegen`, anew each time: changes are lost."
}

/// Names in code.
enum Spelling {
    /// `installedSize` → `INSTALLED_SIZE`.
    static func upperSnake(_ name: String) -> String { snake(name).uppercased() }

    /// `installedSize` → `installed_size`, `HTMLPage` → `html_page`.
    static func snake(_ name: String) -> String {
        var (result, letters) = ("", Array(name))
        for (place, letter) in letters.enumerated() where letter != "_" || place > 0 {
            let follows = place > 0 && (letters[place - 1].isLowercase || letters[place - 1].isNumber)
            let begins =
                place > 0 && place + 1 < letters.count && letters[place + 1].isLowercase
                && letters[place - 1].isUppercase
            if letter.isUppercase, follows || begins { result += "_" }
            result += letter.lowercased()
        }
        letters.removeAll()
        return result.isEmpty ? name : result
    }

    static func capitalized(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }
    static func uncapitalized(_ name: String) -> String { name.prefix(1).lowercased() + name.dropFirst() }

    /// Any text as part of an identifier.
    static func identifier(_ text: String) -> String {
        let letters = text.map { $0 == "_" || $0.isLetter || $0.isNumber ? $0 : "_" }
        return letters.first?.isNumber ?? true ? "_" + String(letters) : String(letters)
    }

    /// A predicate as a comment shows it, in any of the languages: on one line, and without what would end the comment.
    static func comment(_ predicate: PredicateText?) -> String {
        predicate.map { comment($0.text) } ?? "every object"
    }

    /// The same for other words of the model's author.
    static func comment(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ").replacing("*/", with: "* /")
            .replacing("\\", with: "/").replacing("\"\"\"", with: "\"")
    }

    /// A string literal that C, Python and Swift read alike.
    static func literal(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
