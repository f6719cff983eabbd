import Corestone
import Glibc

/// The tool as a whole: finds the command, runs it, says what went wrong.
enum Tool {
    static let name = "corestone"
    static let commands: [any Command.Type] = [ShowCommand.self, FetchCommand.self, CheckCommand.self]
    private static var manuals: [Manual] { commands.map { $0.manual } }

    /// `words` are the command line as the system hands it over, the tool's own name first.
    static func run(_ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> ExitCode {
        let output = Output()
        do {
            let code = try run(arguments(words), to: output)
            try output.finish()
            return code
        } catch {
            return explain(error, output)
        }
    }

    /// Swift repairs words that are not UTF-8, and a repaired path is that of another file.
    private static func arguments(_ words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) throws -> [String] {
        var arguments: [String] = []
        var place = 1
        while let word = words[place] {
            guard let text = String(validatingCString: word) else {
                throw UsageError(
                    "\"\(String(cString: word))\" is not UTF-8, as paths and all else must be; rename the file")
            }
            arguments.append(text)
            place += 1
        }
        return arguments
    }

    private static func run(_ arguments: [String], to output: Output) throws -> ExitCode {
        guard let first = arguments.first else {
            complain(help)
            return .usage
        }
        switch first {
        case "--version":
            try output.write("\(name) \(corestoneVersion)\n")
            return .done
        case "--help", "-h", "help":
            let topic = arguments.dropFirst().first
            try output.write(try topic.map { try command(named: $0).manual.text(for: output.width) } ?? help)
            return .done
        default:
            let command = try command(named: first)
            let options = try command.manual.parse(Array(arguments.dropFirst()))
            guard !options.asksForHelp else {
                try output.write(command.manual.text(for: output.width))
                return .done
            }
            return try command.init(options).run(to: output)
        }
    }

    private static func command(named name: String) throws -> any Command.Type {
        if let found = commands.first(where: { $0.manual.command == name }) { return found }
        if name.hasPrefix("-") { throw UsageError("there is no option \(name); see \(Tool.name) --help") }
        let hint = nearestName(to: name, among: manuals.map(\.command)).map { "; did you mean \"\($0)\"?" }
        throw UsageError("there is no command \"\(name)\"\(hint ?? "; see \(Tool.name) --help")")
    }

    /// Tells on standard error what stopped the tool.
    private static func explain(_ error: any Error, _ output: Output) -> ExitCode {
        switch error {
        case is Output.ReaderLeft: return .done
        case let error as UsageError:
            try? output.finish()
            complain("\(name): \(error.message)\n")
            return .usage
        case let error as CoreError:
            try? output.finish()
            complain("\(name): \(error.description)\n")
            return ExitCode(error)
        default:
            complain("\(name): \(error)\n")
            return .failure
        }
    }

    /// Says on standard error what a reader of the output ought to know.
    static func note(_ text: String) { complain("\(name): \(text)\n") }

    private static func complain(_ text: String) {
        _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
    }

    static var help: String {
        let lines =
            manuals.map { ("\(name) \($0.command)", $0.summary) }
            + [("\(name) help COMMAND", "all about a command"), ("\(name) --version", "the version of the tool")]
        let width = lines.map(\.0.count).max() ?? 0
        let list = lines.map { line in
            "  \(line.0)\(String(repeating: " ", count: width - line.0.count))   \(line.1)\n"
        }
        return """
            Core Data stores and models from the command line. Nothing that it looks at is changed,
            except that check --remove-leftovers removes files that no row refers to.

            \(list.joined())
            Examples
              \(name) show Notes.sqlite
              \(name) fetch Notes.sqlite Note "title CONTAINS[c] 'milk'" --sort -modified --limit 10
              \(name) fetch Notes.sqlite Note --format csv > notes.csv
              \(name) check Notes.sqlite

            \(ExitCode.help)
            """
    }
}
