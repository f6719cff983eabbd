import Corestone

/// One command of the tool.
protocol Command: Sendable {
    static var manual: Manual { get }
    init(_ options: Options) throws
    func run(to output: Output) throws -> ExitCode
}

extension Command {
    /// Does what takes a store. A model in its place is told where it belongs.
    func takingStore<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.status == .notAStore {
            guard (try? Model(contentsOf: path)) != nil else { throw error }
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(path) is a model, but \(Self.manual.command) takes a store; run \"\(Tool.name) show \(path)\" to "
                    + "describe the model", file: path)
        }
    }
}

/// How the tool ends; the same for every command.
enum ExitCode: Int32 {
    case done = 0
    /// `check`, `model lint` and other checks found problems, `model diff`, `history diff` or `convert --check` differences, `load` lines that it
    /// left out; or a person did not confirm `destroy`.
    case problems = 1
    /// The command line asks for what does not exist: a command, an option, an entity, a key, a predicate.
    case usage = 2
    /// A store or model cannot be opened or read, or the output not be written.
    case failure = 3

    init(_ error: CoreError) {
        switch error.status {
        case .invalidArgument, .predicate, .predicateSyntax, .typeMismatch: self = error.file == nil ? .usage : .failure
        default: self = .failure
        }
    }

    static let help = """
        Exit codes
          0   success; also if the reader of a pipe closed it early
          1   check, model lint, model check-migration or model freeze --check found problems, model diff,
              history diff or convert --check found differences, load skipped lines, or destroy was not
              confirmed
          2   wrong usage: an unknown command, option, entity or key, or a predicate that cannot be parsed
          3   the store, the model or a value in it cannot be opened or read, or output cannot be written
        """
}

/// The command line asks for what does not exist, or leaves out what is needed.
struct UsageError: Error {
    let message: String
    /// How the command is used, in lines of its own; empty where that would not help.
    let usage: String
    init(_ message: String, usage: String = "") { (self.message, self.usage) = (message, usage) }
}

/// In which form a command prints.
enum Format: String, CaseIterable {
    case table, json, csv

    static func chosen(by options: Options, among allowed: [Format]) throws -> Format {
        guard let name = options["format"] else { return .table }
        guard let format = Format(rawValue: name), allowed.contains(format) else {
            let names = allowed.map(\.rawValue)
            let list = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
            throw UsageError("--format must be \(list), not \"\(name)\"")
        }
        return format
    }
}
