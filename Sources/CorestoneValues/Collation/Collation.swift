/// The order of strings for people: as a reader of some language expects them.
///
/// The rules are those of ICU's library where the host has it, else a fallback that knows letters, accents, case and
/// numbers, but no language. Immutable; any thread may compare.
public final class Collation: Sendable {
    /// What makes no difference.
    public struct Options: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let caseInsensitive = Options(rawValue: 1)
        public static let diacriticInsensitive = Options(rawValue: 2)
    }

    /// The locale whose rules it follows, for example `de_DE`; empty for those of no language.
    public let locale: String
    private let collators: ICUCollators?

    /// Whether ICU orders; else the fallback does.
    public var usesICU: Bool { collators != nil }

    /// What another text has that may order otherwise: the locale, and whose rules they are.
    package var identity: String { locale + "/" + (collators.map { "ICU \($0.version)" } ?? "fallback") }

    /// - Parameters:
    ///   - locale: a language, with a country where that matters: `de`, `sv_SE`. ICU follows the nearest one it knows.
    ///   - usesICU: false for the fallback even where there is ICU.
    public init(locale: String, usesICU: Bool = ICU.isWanted) {
        self.locale = locale
        collators = usesICU ? ICUCollators(locale: locale) : nil
    }

    /// The order of two texts: negative, zero or positive; zero for spellings that differ in nothing a reader sees.
    public func compare(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ options: Options = []
    ) -> Int {
        collators?.compare(a, b, options) ?? PlainCollation(options: options).compare(a, b)
    }

    /// The order of a list of names: runs of digits by their number. Zero only for equal texts: of two spellings of a number
    /// the shorter one comes first, `file-1` before `file-01`.
    public func compareNames(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let order = collators?.compareNames(a, b) ?? PlainCollation(options: [], isNumeric: true).compare(a, b)
        if order != 0 { return order }
        return a.count != b.count ? a.count - b.count : compareBytes(a, b)
    }
}

// MARK: - The one in use

extension Collation {
    private static let shared = Locked<Collation?>(nil)

    /// The one that sort descriptors and the option `[l]` follow: of the environment's locale (LC_ALL, LC_COLLATE or LANG at
    /// first use), until a host sets another.
    public static var current: Collation {
        shared.withLock { shared in
            if let shared { return shared }
            let first = Collation(locale: environmentLocale)
            shared = first
            return first
        }
    }

    /// Lets the whole process order by another locale from now on. Orders that were kept, for example a store's index or a
    /// sorted list, do not change with it.
    ///
    /// - Parameter locale: as ICU spells it, `de_DE`; empty for the rules of no language, nil for the environment's locale.
    public static func use(locale: String?) {
        let next = Collation(locale: locale ?? environmentLocale)
        let old = shared.withLock { shared in
            defer { shared = next }
            return shared
        }
        withExtendedLifetime(old) {}
    }

    /// For tests: the fallback, or ICU, for the whole process.
    package static func use(_ collation: Collation) { shared.withLock { $0 = collation } }

    private static var environmentLocale: String {
        for name in ["LC_ALL", "LC_COLLATE", "LANG"] {
            if let value = environmentValue(name), !value.isEmpty { return localeName(ofPOSIX: value) }
        }
        return ""
    }

    /// `de_DE.UTF-8@euro` as ICU spells it; empty for `C` and `POSIX`.
    static func localeName(ofPOSIX name: String) -> String {
        let plain = String(name.prefix { $0 != "." && $0 != "@" })
        return plain == "C" || plain == "POSIX" ? "" : plain
    }
}
