import CorestoneValues
import Glibc

/// The string operators on bytes.
///
/// The evaluator and the SQL functions of stores share them, so that both return the same results.
package enum TextSearch {
    /// Compares two texts as the options specify: by the locale's rules, folded, or by bytes.
    package static func order(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, options: Comparison.Options
    ) -> Int {
        if options.isBinary { return compareBytes(a, b) }
        if options.contains(.localeSensitive) {
            var ignored: Collation.Options = []
            if options.foldsCase { ignored.insert(.caseInsensitive) }
            if options.foldsDiacritics { ignored.insert(.diacriticInsensitive) }
            return Collation.current.compare(a, b, ignored)
        }
        return compareFolded(a, b, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics)
    }

    /// Whether BEGINSWITH, ENDSWITH or CONTAINS is true.
    ///
    /// An empty part never matches. Composed and decomposed spellings match each other, unless the option `n` promises
    /// that both sides are normalised.
    package static func contains(
        _ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer, options: Comparison.Options, anchor: TextAnchor
    ) -> Bool {
        if options.folds {
            return containsFolded(
                text, part, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics,
                anchor: anchor)
        }
        if !options.contains(.normalized) { return containsText(text, part, anchor: anchor) }
        guard part.count > 0, part.count <= text.count, let whole = text.baseAddress, let sought = part.baseAddress
        else {
            return false
        }
        switch anchor {
        case .start: return memcmp(whole, sought, part.count) == 0
        case .end: return memcmp(whole + (text.count - part.count), sought, part.count) == 0
        case .anywhere: return find(whole, text.count, sought, part.count)
        }
    }

    /// Whether LIKE is true for a pattern that was folded with the same options.
    package static func like(_ text: UnsafeRawBufferPointer, _ pattern: LikePattern, options: Comparison.Options)
        -> Bool
    {
        if !options.folds { return pattern.matches(text) }
        return withFoldedText(
            text, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics
        ) { pattern.matches($0) }
    }

    /// Whether MATCHES is true for a pattern that `compilePattern` returned for the same options.
    package static func matches(
        _ text: UnsafeRawBufferPointer, _ expression: RegularExpression, options: Comparison.Options
    ) throws -> Bool {
        if !options.foldsDiacritics { return try expression.matches(text) }
        return try withFoldedText(text, caseInsensitive: false, diacriticInsensitive: true) {
            try expression.matches($0)
        }
    }

    private static func find(
        _ text: UnsafeRawPointer, _ count: Int, _ part: UnsafeRawPointer, _ length: Int
    ) -> Bool {
        var position = text
        var rest = count
        let first = Int32(part.load(as: UInt8.self))
        while rest >= length, let hit = memchr(position, first, rest - length + 1) {
            if memcmp(hit, part, length) == 0 { return true }
            rest -= UnsafeRawPointer(hit) - position + 1
            position = UnsafeRawPointer(hit) + 1
        }
        return false
    }
}
