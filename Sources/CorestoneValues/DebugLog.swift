import CPlatform
import Glibc

/// What the library tells about its work, line by line, when somebody wants to know: which SQL it runs, how long that took,
/// how many rows came.
///
/// For the whole process; any thread. The lines begin as those of Core Data do (`CoreData: sql: `, `CoreData: annotation: `),
/// so that tools which read its logs read these too.
public enum DebugLog {
    /// How much of the SQL is told; each level tells what the one before it does, and more.
    public enum SQLDetail: UInt32, Sendable {
        case nothing = 0
        /// Statements that read and write rows, each with its time and the number of its rows.
        case statements = 1
        /// Also transactions, savepoints and settings.
        case transactions = 2
        /// Also the values that are bound, and SQLite's plan.
        case values = 3
        /// Also SQLite's own counters: rows looked at one by one, sorts, indexes made for the occasion, steps.
        case counters = 4
    }

    private struct Settings {
        var sink: (@Sendable (String) -> Void)?
        var isQuiet = false
        var isColoured = false
    }

    private static let settings = Locked(Settings())
    private static let environment: Void = {
        for name in ["CORESTONE_SQL_DEBUG", "COREDATA_SQLDEBUG"] {
            guard let value = getenv(name) else { continue }
            if let detail = UInt32(String(cString: value)).flatMap(SQLDetail.init(rawValue:)) {
                platform_set_sql_detail(detail.rawValue)
                return
            }
            write(
                "CoreData: warning: \(name) is \"\(String(cString: value))\", but must be 0 to \(SQLDetail.counters.rawValue)"
            )
        }
    }()

    /// Looks at the environment, the first time. Called before the first store is opened, and before a host sets anything.
    package static func begin() { environment }

    /// What of the SQL is told from now on, of stores that are open too. At first what the environment's
    /// `CORESTONE_SQL_DEBUG`, or else `COREDATA_SQLDEBUG`, says.
    public static var sqlDetail: SQLDetail {
        get {
            begin()
            return SQLDetail(rawValue: platform_sql_detail()) ?? .nothing
        }
        set {
            begin()
            platform_set_sql_detail(newValue.rawValue)
        }
    }

    /// Takes the lines, without their ends, instead of standard error; nil gives them back to it.
    ///
    /// Called on the thread that does the work, in the midst of it and with stores locked: the function may not call the library.
    public static func setSink(_ sink: (@Sendable (String) -> Void)?) {
        let former = settings.withLock { settings in
            defer { settings.sink = sink }
            return settings.sink
        }
        // Outside the lock: its end may be the host's.
        withExtendedLifetime(former) {}
    }

    /// Whether standard error gets lines that no sink takes.
    static func setQuiet(_ isQuiet: Bool) { settings.withLock { $0.isQuiet = isQuiet } }

    /// Whether keywords of SQL are coloured where standard error is a terminal.
    static func setColoured(_ isColoured: Bool) { settings.withLock { $0.isColoured = isColoured } }

    /// Tells one line, whatever the names and values in it are; see `visible`.
    package static func write(_ text: String) {
        // What a sink does against the rules is not told to it in turn.
        if platform_is_telling() { return }
        platform_set_telling(true)
        defer { platform_set_telling(false) }
        let line = text.visible()
        let (sink, isQuiet, isColoured) = settings.withLock { ($0.sink, $0.isQuiet, $0.isColoured) }
        if let sink { return asCall { sink(line) } }
        if isQuiet { return }
        var text = (isColoured && isatty(2) == 1 ? withColouredKeywords(line) : line) + "\n"
        // In one piece, so that lines of several threads do not mix.
        text.withUTF8 { bytes in _ = Glibc.write(2, bytes.baseAddress, bytes.count) }
    }

    /// What was warned of already, by hash: the subjects may be large.
    private static let warned = Locked(Set<Int>())
    /// A program that has more to be warned of puts its predicates together; it was told often enough.
    private static let mostWarnings = 1000

    /// Tells of something that is rarely meant, once in a process for each subject.
    /// - Parameter subject: the hash of what the warning is about.
    package static func warnOnce(_ subject: Int, _ text: @autoclosure () -> String) {
        let isNew = warned.withLock { $0.count < mostWarnings && $0.insert(subject).inserted }
        if isNew { write("CoreData: warning: \(text())") }
    }

    /// Why a call fails that a sink makes.
    package static func calledFromSink() -> CoreError {
        CoreError(
            .invalidArgument,
            "the log callback called the library; store the line, and call the library after the call that logs it has "
                + "returned")
    }

    /// SQL's keywords are the words in capitals that have no digit, no underscore and no quotes around them.
    private static func withColouredKeywords(_ line: String) -> String {
        var result: [UInt8] = []
        var word: [UInt8] = []
        var quote: UInt8?
        func endWord() {
            let isKeyword = word.count > 1 && word.allSatisfy { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") }
            result += isKeyword && quote == nil ? Array("\u{1B}[1;34m".utf8) + word + Array("\u{1B}[0m".utf8) : word
            word = []
        }
        for byte in line.utf8 {
            let isLetter = byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
            if isLetter || byte == UInt8(ascii: "_") || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") {
                word.append(byte)
                continue
            }
            endWord()
            if byte == quote {
                quote = nil
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = quote ?? byte
            }
            result.append(byte)
        }
        endWord()
        return String(decoding: result, as: UTF8.self)
    }
}
