import Corestone

/// Writes the code of a model in one language.
protocol CodeGenerator: SendableMetatype {
    init(_ model: GeneratedModel)
    /// Hands over one file after the other, so that a large model is never in memory as code.
    func generate(_ take: (GeneratedFile) throws -> Void) throws
}

/// A file of generated code.
struct GeneratedFile {
    let name: String
    /// Its lines, some at a time.
    let pieces: AnySequence<[String]>
    /// Whether people change it: it is written once.
    let isForPeople: Bool

    init(_ name: String, _ lines: [String], isForPeople: Bool = false) {
        self.init(name, pieces: CollectionOfOne(lines), isForPeople: isForPeople)
    }

    init(_ name: String, pieces: some Sequence<[String]>, isForPeople: Bool = false) {
        self.name = name
        self.pieces = AnySequence(pieces)
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

    /// The same for other words of the model's author. By scalars: a mark that an accent follows is one character with it.
    static func comment(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var (last, quotes): (Unicode.Scalar, Int) = (" ", 0)
        let line = text.shortened(to: longestComment).split(whereSeparator: \.isNewline).joined(separator: " ")
        for scalar in line.visible().unicodeScalars {
            // A backslash would join the next line, or begin an escape in Python.
            var scalar = scalar == "\\" ? "/" : scalar
            quotes = scalar == "\"" ? quotes + 1 : 0
            // Three would end Python's comment.
            if quotes == 3 { (scalar, quotes) = ("'", 0) }
            // C's comments end or begin here.
            if last == "*" && scalar == "/" || last == "/" && scalar == "*" { result.append(" ") }
            result.append(scalar)
            last = scalar
        }
        return String(result)
    }

    private static let longestComment = 2000

    /// The languages, which have escapes of their own in string literals.
    enum Language { case c, python, swift }

    /// Text as a string literal. What an editor or a terminal would take for a command is an escape too.
    static func literal(_ text: String, _ language: Language) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            // ISO C reads ??/ as a backslash.
            case "?" where language == .c && result.utf8.last == UInt8(ascii: "?"): result += "\\?"
            case _ where scalar.isCommand: result += escape(scalar, language)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    private static func escape(_ scalar: Unicode.Scalar, _ language: Language) -> String {
        func padded(_ number: UInt32, _ radix: Int, _ width: Int) -> String {
            let digits = String(number, radix: radix)
            return String(repeating: "0", count: width - digits.count) + digits
        }
        switch language {
        case .swift: return "\\u{\(String(scalar.value, radix: 16))}"
        case .python: return "\\u\(padded(scalar.value, 16, 4))"
        // Three digits end by themselves, whatever follows.
        case .c: return String(scalar).utf8.map { "\\\(padded(UInt32($0), 8, 3))" }.joined()
        }
    }
}
