import CPlatform
import Glibc

/// The debug log: SQL statements, their timing and their row counts, and warnings.
///
/// Process-wide, and usable on any thread. The lines have the prefixes of Core Data (`CoreData: sql: `, `CoreData:
/// annotation: `), so tools that parse the logs of Core Data can parse these lines too.
public enum DebugLog {
    /// The level of detail of SQL logging. Each level includes the one before it.
    public enum SQLDetail: UInt32, Sendable {
        case nothing = 0
        /// Statements that read and write rows, each with its time and row count.
        case statements = 1
        /// In addition, transactions, savepoints and settings.
        case transactions = 2
        /// In addition, the bound values and SQLite's query plan.
        case values = 3
        /// In addition, SQLite's counters: rows of full scans, sorts, automatic indexes and virtual machine steps.
        case counters = 4
    }

    private struct Settings {
        var sink: (@Sendable (String) -> Void)?
        var isQuiet = false
        var isColoured = false
    }

    private static let settings = Locked(Settings())
    private static let environment: Void = {
        for name in ["CORESTONE_SQL_DEBUG", "COREDATA_SQLDEBUG", "SQLITE_AUTO_TRACE"] {
            guard let value = getenv(name) else { continue }
            // Apple's SQLite traces every statement if this is 1.
            if name == "SQLITE_AUTO_TRACE" {
                if strcmp(value, "1") == 0 { platform_set_sql_detail(SQLDetail.transactions.rawValue) }
                return
            }
            if let detail = UInt32(String(cString: value)).flatMap(SQLDetail.init(rawValue:)) {
                platform_set_sql_detail(detail.rawValue)
                return
            }
            write(
                "CoreData: warning: \(name) is \"\(String(cString: value))\", but must be an integer from 0 to \(SQLDetail.counters.rawValue)"
            )
        }
    }()

    /// Reads the environment at the first call.
    ///
    /// Must be called before the first store is opened, and before the application changes a setting.
    package static func begin() { environment }

    /// The level of detail, including for stores that are already open.
    ///
    /// The initial value is that of the environment variable `CORESTONE_SQL_DEBUG`, or else of `COREDATA_SQLDEBUG`.
    /// Otherwise `SQLITE_AUTO_TRACE=1`, of Apple's SQLite, selects `transactions`.
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

    /// Sets the function that receives the lines, without line ends.
    ///
    /// If `sink` is nil, the lines are written to standard error.
    ///
    /// The function is called on the thread that logs, possibly while stores are locked, so it must not call the
    /// library.
    public static func setSink(_ sink: (@Sendable (String) -> Void)?) {
        let former = settings.withLock { settings in
            defer { settings.sink = sink }
            return settings.sink
        }
        // The former sink is released outside the lock, because its deallocation can run code of the application.
        withExtendedLifetime(former) {}
    }

    /// Sets whether lines are discarded if no sink is set.
    static func setQuiet(_ isQuiet: Bool) { settings.withLock { $0.isQuiet = isQuiet } }

    /// Sets whether SQL keywords are coloured if standard error is a terminal.
    static func setColoured(_ isColoured: Bool) { settings.withLock { $0.isColoured = isColoured } }

    /// Logs one line, in which control characters are made visible; see `visible`.
    package static func write(_ text: String) {
        // A sink must not call the library. If it does, the lines of that call are dropped, so that the sink is not
        // called recursively.
        if platform_runs_log_callback() { return }
        platform_set_runs_log_callback(true)
        defer { platform_set_runs_log_callback(false) }
        let line = text.visible()
        let (sink, isQuiet, isColoured) = settings.withLock { ($0.sink, $0.isQuiet, $0.isColoured) }
        if let sink { return withCallScope { sink(line) } }
        if isQuiet { return }
        var text = (isColoured && isatty(2) == 1 ? withColouredKeywords(line) : line) + "\n"
        // One write call, so that lines of several threads do not mix.
        text.withUTF8 { bytes in _ = Glibc.write(2, bytes.baseAddress, bytes.count) }
    }

    /// The hashes of the subjects of warnings that were logged. Subjects may be large, so only hashes are kept.
    private static let warned = Locked(Set<Int>())
    /// The maximum size of `warned`.
    ///
    /// An application that exceeds this limit probably builds predicates dynamically, so more warnings would not help.
    private static let maximumWarnings = 1000

    /// Logs a warning about a likely mistake, once per process for each of the first `maximumWarnings` subjects.
    ///
    /// - Parameter subject: the hash of the subject of the warning.
    package static func warnOnce(_ subject: Int, _ text: @autoclosure () -> String) {
        let isNew = warned.withLock { $0.count < maximumWarnings && $0.insert(subject).inserted }
        if isNew { write("CoreData: warning: \(text())") }
    }

    /// Creates the error for a sink that calls the library.
    package static func calledFromSink() -> CoreError {
        CoreError(
            .invalidArgument,
            "the log callback called the library; store the line, and call the library after the callback has returned")
    }

    /// Returns the line with coloured SQL keywords.
    ///
    /// Keywords are words of at least two capitals, without digits or underscores, outside quotes.
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
