import Corestone

/// What a command takes and does: the source of its help and of how its command line is read.
struct Manual {
    /// What stands at a place of its own on the command line.
    struct Operand {
        let name: String
        let isOptional: Bool
        /// Whether as many words as are left may stand for it; the last one only.
        let isRepeatable: Bool
        let meaning: String

        init(_ name: String, optional: Bool = false, repeatable: Bool = false, _ meaning: String) {
            self.name = name
            isOptional = optional
            isRepeatable = repeatable
            self.meaning = meaning
        }
    }

    /// What begins with two dashes.
    struct Option {
        let name: String
        /// What stands for its value in the help; nil for one without a value.
        let value: String?
        let isRepeatable: Bool
        /// Whether the option may stand alone; its value follows an equals sign then.
        let isValueOptional: Bool
        /// The letter that stands for it behind one dash.
        let letter: Character?
        let meaning: String

        init(
            _ name: String, _ meaning: String, value: String? = nil, optionalValue: Bool = false,
            repeatable: Bool = false, letter: Character? = nil
        ) {
            self.name = name
            self.meaning = meaning
            self.value = value
            isRepeatable = repeatable
            isValueOptional = optionalValue
            self.letter = letter
        }

        var spelling: String { "--\(name)" + (value.map { isValueOptional ? "[=\($0)]" : " \($0)" } ?? "") }
        var spellings: String { (letter.map { "-\($0), " } ?? "") + spelling }
    }

    let command: String
    let summary: String
    let operands: [Operand]
    let options: [Option]
    /// Paragraphs.
    let details: [String]
    let examples: [String]
}

extension Manual {
    static let help = Option("help", "print this help")
    static let model = Option(
        "model",
        "the model to use instead of the store's own: .xcdatamodeld, .xcdatamodel, .momd, .mom, or a store that "
            + "carries it; of several versions, the one that wrote the store",
        value: "MODEL")

    /// The command in one line, as it is typed.
    var usage: String {
        let words =
            operands.map { ($0.isOptional ? "[\($0.name)]" : $0.name) + ($0.isRepeatable ? "…" : "") }
            + options.map { "[\($0.spelling)]" + ($0.isRepeatable ? "…" : "") }
        return "\(Tool.name) \(command) " + words.joined(separator: " ")
    }

    /// The whole help, in lines of at most `width` columns.
    func text(for width: Int?) -> String {
        let width = min(width ?? 100, 100)
        var text = Paragraph.wrap(summary.prefix(1).uppercased() + summary.dropFirst() + ".", width: width) + "\n"
        text += "Usage\n" + Paragraph.wrap(usage, width: width, indent: 2, hanging: 6) + "\n"
        let terms =
            operands.map { ($0.name, $0.meaning) }
            + (options + [Manual.help]).map { ($0.spellings, $0.meaning) }
        let column = 2 + (terms.map { $0.0.count }.max() ?? 0) + 3
        for (term, meaning) in terms {
            let head = "  " + term + String(repeating: " ", count: column - 2 - term.count)
            text += Paragraph.wrap(meaning, width: width, first: head, indent: column)
        }
        for paragraph in details { text += "\n" + Paragraph.wrap(paragraph, width: width) }
        text += "\nExamples\n" + examples.map { "  \($0)\n" }.joined()
        return text + "\n" + ExitCode.help
    }
}

/// Text in lines of a width.
enum Paragraph {
    static func wrap(_ text: String, width: Int, indent: Int = 0, hanging: Int = 0) -> String {
        wrap(text, width: width, first: String(repeating: " ", count: indent), indent: indent + hanging)
    }

    /// `first` begins the first line, `indent` spaces all others.
    static func wrap(_ text: String, width: Int, first: String, indent: Int) -> String {
        if text.isEmpty { return "" }
        var (lines, line, length) = ([String](), first, first.count)
        var isEmpty = true
        for word in text.visible().split(separator: " ") {
            let count = word.count
            if !isEmpty, length + 1 + count > width {
                lines.append(line)
                (line, length, isEmpty) = (String(repeating: " ", count: indent), indent, true)
            }
            line += (isEmpty ? "" : " ") + word
            length += (isEmpty ? 0 : 1) + count
            isEmpty = false
        }
        return (lines + [line]).map { $0 + "\n" }.joined()
    }
}
