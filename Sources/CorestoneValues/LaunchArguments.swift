/// The launch arguments that enable logging and checks in Core Data, such as `-com.apple.CoreData.SQLDebug 1`.
///
/// Apple's framework reads them from the process's arguments. Here the application passes them, because a library
/// cannot determine who set the arguments of the process.
public enum LaunchArguments {
    /// The settings for stores that are opened later.
    package struct StoreSettings: Sendable {
        /// SQLite's `synchronous`, 0 to 2; overrides the option of the store unless it is nil.
        package var synchronous: Int?
        /// Whether the integrity of a store's file is checked when it is opened.
        package var checksIntegrity = false
    }

    private static let settings = Locked(StoreSettings())
    package static var storeSettings: StoreSettings { settings.withLock { $0 } }

    /// The names, each with its largest value.
    ///
    /// Some arguments are accepted but do not have an effect, because this library always checks threads or does not
    /// have the feature.
    private static let known: [(name: String, largest: Int)] = [
        ("SQLDebug", 4), ("Logging.stderr", 1), ("SyntaxColoredLogging", 1), ("SQLiteDebugSynchronous", 2),
        ("SQLiteIntegrityCheck", 1), ("ConcurrencyDebug", 1), ("ThreadingDebug", 3), ("MigrationDebug", 1),
        ("CloudKitDebug", 3),
    ]
    private static let prefix = "-com.apple.CoreData."

    /// Applies the pairs of a launch argument and its value. Arguments without the prefix of Core Data are ignored.
    ///
    /// - Returns: the number of pairs.
    /// - Throws: `.invalidArgument` for an unsupported name with the prefix of Core Data, or for a value that is
    ///   missing or out of range. In this case, no argument is applied.
    public static func take(_ arguments: [String]) throws -> Int {
        var pairs: [(name: String, value: Int)] = []
        for (index, argument) in arguments.enumerated() where argument.hasPrefix(prefix) {
            let name = String(argument.dropFirst(prefix.count))
            guard let largest = known.first(where: { $0.name == name })?.largest else {
                let near =
                    nearestName(to: name, among: known.map(\.name)).map { "; did you mean \"\(prefix)\($0)\"?" }
                    ?? "; use one of \(known.map { "\"\(prefix)\($0.name)\"" }.joined(separator: ", "))"
                throw CoreError(
                    .invalidArgument, "\"\(argument)\" is not a supported launch argument\(near)", key: argument,
                    value: .string(argument))
            }
            let text = index + 1 < arguments.count ? arguments[index + 1] : nil
            guard let value = text.flatMap(number), (0...largest).contains(value) else {
                let found = text.map { "not \"\($0)\"" } ?? "but is the last argument"
                throw CoreError(
                    .invalidArgument, "\"\(argument)\" must be followed by an integer from 0 to \(largest), \(found)",
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
