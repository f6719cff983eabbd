import Corestone

/// One command of the tool.
protocol Command: Sendable {
    static var manual: Manual { get }
    init(_ options: Options) throws
    func run(to output: Output) throws -> ExitCode
}

extension Command {
    /// Runs `body`, which opens a store. If the path is a model, the error suggests `corestone show`.
    func suggestingShowForModels<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as CoreError where error.status == .notAStore {
            guard (try? Model(contentsOf: path)) != nil else { throw error }
            throw CoreError(
                .notAStore, code: .persistentStoreOpen,
                "\(path) is a model, but \(Self.manual.command) takes a store; run \(Tool.name) show \(path) to "
                    + "describe the model", file: path)
        }
    }
}

/// The exit codes of all commands.
enum ExitCode: Int32 {
    case done = 0
    /// A check found problems, or a comparison found differences.
    ///
    /// Checks are `check`, `model lint` and others; comparisons are `model diff`, `history diff` and `convert --check`.
    /// The same code is used if `load` skipped lines, or the user did not confirm `destroy`.
    case problems = 1
    /// Wrong usage: an unknown command, option, entity or key, or an invalid predicate.
    case usage = 2
    /// A store or model cannot be opened or read, or output cannot be written.
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

/// An error in the command line: an unknown name, an invalid value or a missing argument.
struct UsageError: Error {
    let message: String
    /// The usage of the command, on separate lines; empty if it is not helpful.
    let usage: String
    init(_ message: String, usage: String = "") { (self.message, self.usage) = (message, usage) }
}

/// The output format of a command.
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
