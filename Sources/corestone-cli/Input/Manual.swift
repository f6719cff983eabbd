import Corestone

/// The description of a command, from which its help and its command-line parser are derived.
struct Manual {
    /// A positional argument.
    struct Operand {
        let name: String
        let isOptional: Bool
        /// Whether it accepts all remaining arguments; only for the last operand.
        let isRepeatable: Bool
        let meaning: String

        init(_ name: String, optional: Bool = false, repeatable: Bool = false, _ meaning: String) {
            self.name = name
            isOptional = optional
            isRepeatable = repeatable
            self.meaning = meaning
        }
    }

    /// A named option, such as `--model`.
    struct Option {
        let name: String
        /// The placeholder of its value in the help; nil for an option without a value.
        let value: String?
        let isRepeatable: Bool
        /// Whether the value is optional. It must then follow an equals sign.
        let isValueOptional: Bool
        /// The letter of its short form.
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
    /// The paragraphs of the description.
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

    /// The usage line of the command.
    var usage: String {
        let words =
            operands.map { ($0.isOptional ? "[\($0.name)]" : $0.name) + ($0.isRepeatable ? "…" : "") }
            + options.map { "[\($0.spelling)]" + ($0.isRepeatable ? "…" : "") }
        return "\(Tool.name) \(command) " + words.joined(separator: " ")
    }

    /// Returns the help text, wrapped to `width` columns, but to at most 100.
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

/// A paragraph of text, wrapped into lines of a limited width.
enum Paragraph {
    static func wrap(_ text: String, width: Int, indent: Int = 0, hanging: Int = 0) -> String {
        wrap(text, width: width, first: String(repeating: " ", count: indent), indent: indent + hanging)
    }

    /// Wraps text with a prefix.
    ///
    /// - Parameters:
    ///   - first: The prefix of the first line.
    ///   - indent: The number of spaces at the beginning of all other lines.
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
