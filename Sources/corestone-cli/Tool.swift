import Corestone
import Glibc

/// The tool, which finds the command, runs it and reports errors.
enum Tool {
    static let name = "corestone"
    static let commands: [any Command.Type] = [
        ShowCommand.self, FetchCommand.self, CheckCommand.self, MetadataCommand.self, CopyCommand.self,
        BackupCommand.self, ConvertCommand.self, MigrateCommand.self, HistoryCommand.self,
        HistoryObjectCommand.self, HistoryDiffCommand.self, HistoryAtCommand.self, HistoryPurgeCommand.self,
        HistorySizeCommand.self, ViewsCommand.self, DumpCommand.self,
        LoadCommand.self,
        DestroyCommand.self, InitCommand.self,
    ]
    static let groups = [CommandGroup.model]

    /// The command or the group of the first arguments.
    private enum Topic {
        case command(any Command.Type)
        case group(CommandGroup)
    }

    /// Runs the tool.
    ///
    /// - Parameter words: The `argv` of the process, with the tool's own name first.
    static func run(_ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> ExitCode {
        let output = Output()
        do {
            let code = try run(arguments(words), to: output)
            try output.finish()
            return code
        } catch {
            if Interruption.isReceived { try? output.finish() }
            Interruption.endIfReceived()
            return explain(error, output)
        }
    }

    /// Returns the arguments. Throws if one is not UTF-8, because Swift would repair it and a repaired path names
    /// another file.
    private static func arguments(_ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) throws -> [String] {
        var arguments: [String] = []
        var place = 1
        while let word = words[place] {
            guard let text = String(validatingCString: word) else {
                throw UsageError(
                    "the argument \"\(String(cString: word))\" is not valid UTF-8; pass it in UTF-8, or rename the "
                        + "file if its name is not UTF-8")
            }
            arguments.append(text)
            place += 1
        }
        return arguments
    }

    private static func run(_ arguments: [String], to output: Output) throws -> ExitCode {
        let arguments = try FileLimits.parse(from: arguments)
        guard let first = arguments.first else {
            Messages.printText(help)
            return .usage
        }
        switch first {
        case "--version":
            try output.line("\(name) \(corestoneVersion)")
            return .done
        case "--help", "-h", "help":
            var words = arguments.dropFirst()
            try output.toolText(words.isEmpty ? help : try text(of: try topic(&words, isForHelp: true), for: output))
            return .done
        default:
            var words = arguments[...]
            let topic = try topic(&words)
            guard case .command(let command) = topic else {
                // A group without a command prints its help; this is an error unless help was requested.
                let asksForHelp = words.first == "--help" || words.first == "-h"
                let help = try text(of: topic, for: output)
                if asksForHelp { try output.toolText(help) } else { Messages.printText(help) }
                return asksForHelp ? .done : .usage
            }
            let options = try command.manual.parse(Array(words))
            guard !options.asksForHelp else {
                try output.toolText(command.manual.text(for: output.width))
                return .done
            }
            return try command.init(options).run(to: output)
        }
    }

    /// Removes the words of a command or a group from the front, and returns the command or the group.
    ///
    /// - Parameter isForHelp: Whether the words follow "help", where the tool's own options are not accepted.
    private static func topic(_ words: inout ArraySlice<String>, isForHelp: Bool = false) throws -> Topic {
        let name = words.removeFirst()
        if let group = groups.first(where: { $0.name == name }) {
            guard let word = words.first, word != "--help", word != "-h" else { return .group(group) }
            words.removeFirst()
            return .command(try group.command(named: word))
        }
        // A command may have two words, such as "history purge"; "history" with another second word is the command
        // "history" with an operand.
        if let second = words.first, let found = commands.first(where: { $0.manual.command == "\(name) \(second)" }) {
            words.removeFirst()
            return .command(found)
        }
        if let found = commands.first(where: { $0.manual.command == name }) { return .command(found) }
        let own = ["--help", "--version", "--file-limit"]
        // An option of the tool itself is here only after "help".
        if name.hasPrefix("-"), name != "-h", !own.contains(name) {
            if isOptionOfCommand(name) {
                throw UsageError("\"\(name)\" must follow a command; see \(Tool.name) --help for the commands")
            }
            let hint = isForHelp ? nil : nearestName(to: name, among: own).map { "; did you mean \($0)?" }
            throw UsageError("\"\(name)\" is not an option\(hint ?? "; see \(Tool.name) --help")")
        }
        let names = commands.map { $0.manual.command } + groups.map(\.name)
        let hint = nearestName(to: name, among: names).map { "; did you mean \"\($0)\"?" }
        throw UsageError("\"\(name)\" is not a command\(hint ?? "; see \(Tool.name) --help")")
    }

    /// Whether any command has an option, such as "-o" or "--format=csv".
    private static func isOptionOfCommand(_ word: String) -> Bool {
        let name = String(word.prefix { $0 != "=" })
        let options = (commands + groups.flatMap(\.commands)).flatMap { $0.manual.options }
        return options.contains { option in
            name == "--\(option.name)" || option.letter.map { name == "-\($0)" } ?? false
        }
    }

    private static func text(of topic: Topic, for output: Output) throws -> String {
        switch topic {
        case .command(let command): command.manual.text(for: output.width)
        case .group(let group): group.help
        }
    }

    /// Prints an error on standard error, unless the error is `ReaderClosed`, and returns the exit code.
    private static func explain(_ error: any Error, _ output: Output) -> ExitCode {
        switch error {
        case is Output.ReaderClosed: return .done
        case let error as UsageError:
            try? output.finish()
            Messages.printMessage(error.message, then: error.usage)
            return .usage
        case let error as CoreError:
            try? output.finish()
            Messages.printMessage(error.description)
            return ExitCode(error)
        default:
            Messages.printMessage("\(error)")
            return .failure
        }
    }

    /// Prints a note for the user on standard error.
    static func note(_ text: String) { Messages.printMessage(text) }

    static var help: String {
        let lines =
            commands.map { ("\(name) \($0.manual.command)", $0.manual.summary) }
            + groups.map { ("\(name) \($0.name) COMMAND", $0.summary) }
            + [
                ("\(name) help COMMAND", "print the help of a command"),
                ("\(name) --version", "print the version of the tool"),
                ("--file-limit NAME=NUMBER", "limit the resources that a store file can use, in any command"),
            ]
        return """
            Core Data stores and models from the command line. Only load, migrate, destroy, history purge,
            metadata --set and --remove, and check --remove-leftovers change the store that they open.

            \(list(lines))
            Examples
              \(name) show Notes.sqlite
              \(name) fetch Notes.sqlite Note "title CONTAINS[c] 'milk'" --sort -modified --limit 10
              \(name) fetch Notes.sqlite Note --format csv > notes.csv
              \(name) check Notes.sqlite
              \(name) views Notes.sqlite --into Readable.sqlite
              \(name) dump Notes.sqlite -o notes.jsonl
              \(name) model diagram Notes.xcdatamodeld -o Notes.svg

            \(ExitCode.help)
            """
    }

    /// Formats terms and their meanings in two columns.
    static func list(_ lines: [(String, String)]) -> String {
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { "  \($0.0)\(String(repeating: " ", count: width - $0.0.count))   \($0.1)\n" }.joined()
    }
}
