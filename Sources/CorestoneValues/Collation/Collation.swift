/// A locale-aware order of strings.
///
/// The rules are those of the ICU library, if it is installed and not disabled. Otherwise, or if ICU fails, a fallback
/// applies. It supports letters, accents, case and numbers, but not the rules of a language. Collations are immutable
/// and thread-safe.
public final class Collation: Sendable {
    /// The differences that a comparison ignores.
    public struct Options: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let caseInsensitive = Options(rawValue: 1)
        public static let diacriticInsensitive = Options(rawValue: 2)
    }

    /// The locale, for example `de_DE`; empty for language-neutral rules.
    public let locale: String
    private let collators: ICUCollators?

    /// Whether ICU compares the strings, except those for which it fails; otherwise the fallback does.
    public var usesICU: Bool { collators != nil }

    /// The locale and the implementation. Collations with different identities may order strings differently.
    package var identity: String { locale + "/" + (collators.map { "ICU \($0.version)" } ?? "fallback") }

    /// Creates a collation for a locale.
    ///
    /// - Parameters:
    ///   - locale: a language and an optional country: `de`, `sv_SE`. ICU uses the nearest locale that it supports.
    ///   - usesICU: false for the fallback, even if ICU is available.
    public init(locale: String, usesICU: Bool = ICU.isWanted) {
        self.locale = locale
        collators = usesICU ? ICUCollators(locale: locale) : nil
    }

    /// Compares two texts.
    ///
    /// Returns a negative number, zero or a positive number. Composed and decomposed spellings of a character are
    /// equal.
    public func compare(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ options: Options = []
    ) -> Int {
        collators?.compare(a, b, options) ?? PlainCollation(options: options).compare(a, b)
    }

    /// Compares two names, with runs of digits as numbers.
    ///
    /// Returns zero only for identical bytes. Of two names that the rules do not distinguish, such as `file-1` and
    /// `file-01`, the shorter one is first.
    public func compareNames(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let order = collators?.compareNames(a, b) ?? PlainCollation(options: [], isNumeric: true).compare(a, b)
        if order != 0 { return order }
        return a.count != b.count ? a.count - b.count : compareBytes(a, b)
    }
}

// MARK: - The current collation

extension Collation {
    private static let shared = Locked<Collation?>(nil)

    /// The collation of localised sort descriptors and of the comparison option `[l]`.
    ///
    /// Its initial locale is that of the environment (LC_ALL, LC_COLLATE or LANG at first use). The application can set
    /// another locale.
    public static var current: Collation {
        shared.withLock { shared in
            if let shared { return shared }
            let first = Collation(locale: environmentLocale)
            shared = first
            return first
        }
    }

    /// Sets the locale of the current collation for the whole process.
    ///
    /// Existing orders, for example of a store's index or a sorted list, do not change.
    ///
    /// - Parameter locale: an ICU locale such as `de_DE`; empty for language-neutral rules, nil for the environment's
    ///   locale.
    public static func use(locale: String?) {
        let next = Collation(locale: locale ?? environmentLocale)
        let old = shared.withLock { shared in
            defer { shared = next }
            return shared
        }
        withExtendedLifetime(old) {}
    }

    /// Sets the current collation, with ICU or the fallback, for the whole process. For tests.
    package static func use(_ collation: Collation) { shared.withLock { $0 = collation } }

    private static var environmentLocale: String {
        for name in ["LC_ALL", "LC_COLLATE", "LANG"] {
            if let value = environmentValue(name), !value.isEmpty { return localeName(ofPOSIX: value) }
        }
        return ""
    }

    /// Converts a POSIX locale such as `de_DE.UTF-8@euro` to ICU's spelling. `C` and `POSIX` become empty.
    static func localeName(ofPOSIX name: String) -> String {
        let plain = String(name.prefix { $0 != "." && $0 != "@" })
        return plain == "C" || plain == "POSIX" ? "" : plain
    }
}
