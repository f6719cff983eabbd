/// The launch arguments by which Core Data is told to explain itself: `-com.apple.CoreData.SQLDebug 1` and its like.
///
/// Apple's framework finds them among the process's arguments. Here the host hands them over, since a library does not know
/// whose arguments those are.
public enum LaunchArguments {
    /// What arguments ask of stores that are opened from now on.
    package struct StoreSettings: Sendable {
        /// SQLite's `synchronous`, 0 to 2, over what the store's options say.
        package var synchronous: Int?
        /// Whether a file is checked before it is used.
        package var checksIntegrity = false
    }

    private static let settings = Locked(StoreSettings())
    package static var storeSettings: StoreSettings { settings.withLock { $0 } }

    /// The names, and the largest number that each takes. Those that this library has no use for, since it always checks
    /// threads or has no such part, are taken all the same.
    private static let known: [(name: String, largest: Int)] = [
        ("SQLDebug", 4), ("Logging.stderr", 1), ("SyntaxColoredLogging", 1), ("SQLiteDebugSynchronous", 2),
        ("SQLiteIntegrityCheck", 1), ("ConcurrencyDebug", 1), ("ThreadingDebug", 3), ("MigrationDebug", 1),
        ("CloudKitDebug", 3),
    ]
    private static let prefix = "-com.apple.CoreData."

    /// Does what the pairs among some arguments say; everything else is passed over.
    ///
    /// - Returns: how many pairs there were.
    /// - Throws: `Status.invalidArgument` for a name of that kind which does not exist, and for a value that it does not
    ///   take; nothing is done then.
    public static func take(_ arguments: [String]) throws -> Int {
        var pairs: [(name: String, value: Int)] = []
        for (index, argument) in arguments.enumerated() where argument.hasPrefix(prefix) {
            let name = String(argument.dropFirst(prefix.count))
            guard let largest = known.first(where: { $0.name == name })?.largest else {
                let near =
                    nearestName(to: name, among: known.map(\.name)).map { "; did you mean \"\(prefix)\($0)\"?" }
                    ?? "; use one of \(known.map { "\"\(prefix)\($0.name)\"" }.joined(separator: ", "))"
                throw CoreError(
                    .invalidArgument, "\"\(argument)\" is not a launch argument of Core Data\(near)", key: argument,
                    value: .string(argument))
            }
            let text = index + 1 < arguments.count ? arguments[index + 1] : nil
            guard let value = text.flatMap(number), (0...largest).contains(value) else {
                let found = text.map { "not \"\($0)\"" } ?? "but is the last argument"
                throw CoreError(
                    .invalidArgument, "\"\(argument)\" must be followed by a number from 0 to \(largest), \(found)",
                    key: argument, value: text.map { .string($0) })
            }
            pairs.append((name, value))
        }
        for pair in pairs { set(pair.name, pair.value) }
        return pairs.count
    }

    private static func number(_ text: String) -> Int? {
        switch text {
        case "YES", "true": 1
        case "NO", "false": 0
        default: Int(text)
        }
    }

    private static func set(_ name: String, _ value: Int) {
        switch name {
        case "SQLDebug": DebugLog.sqlDetail = DebugLog.SQLDetail(rawValue: UInt32(value)) ?? .counters
        case "Logging.stderr": DebugLog.setQuiet(value == 0)
        case "SyntaxColoredLogging": DebugLog.setColoured(value == 1)
        case "SQLiteDebugSynchronous": settings.withLock { $0.synchronous = value }
        case "SQLiteIntegrityCheck": settings.withLock { $0.checksIntegrity = value == 1 }
        default: break
        }
    }
}
