import Corestone

/// Commands that share their first word, such as `corestone model show`.
struct CommandGroup: Sendable {
    let name: String
    let summary: String
    /// The commands; the first word of each name is the group's name.
    let commands: [any Command.Type]
    let examples: [String]

    /// Returns the command with this second word. The error for an unknown word suggests the nearest name.
    func command(named word: String) throws -> any Command.Type {
        let names = commands.map { $0.manual.command.dropFirst(name.count + 1) }.map(String.init)
        if let place = names.firstIndex(of: word) { return commands[place] }
        let help = "\(Tool.name) \(name) --help"
        if word.hasPrefix("-") {
            let hint = nearestName(to: word, among: ["--help", "--file-limit"]).map { "; did you mean \($0)?" }
            throw UsageError("\(name) does not have an option \"\(word)\"\(hint ?? "; see \(help)")")
        }
        let hint = nearestName(to: word, among: names).map { "; did you mean \"\(name) \($0)\"?" }
        throw UsageError("\"\(name) \(word)\" is not a command\(hint ?? "; see \(help)")")
    }

    var help: String {
        let first = summary.prefix(1).uppercased() + summary.dropFirst()
        let lines =
            commands.map { ("\(Tool.name) \($0.manual.command)", $0.manual.summary) }
            + [("\(Tool.name) help \(name) COMMAND", "print the help of a command")]
        return """
            \(first).

            \(Tool.list(lines))
            Examples
            \(examples.map { "  \($0)\n" }.joined())
            \(ExitCode.help)
            """
    }
}
