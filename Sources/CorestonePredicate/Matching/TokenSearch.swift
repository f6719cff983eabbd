import CorestoneValues

/// The evaluation of TOKENMATCHES.
///
/// Every word of the sought text must be the beginning of a word of the other text, in any order. With the option `w`,
/// it must equal a whole word. A sought text without words does not match.
enum TokenSearch {
    static func matches(
        _ text: UnsafeRawBufferPointer, _ sought: UnsafeRawBufferPointer, options: Comparison.Options
    ) -> Bool {
        let wanted = words(of: sought, options)
        if wanted.isEmpty { return false }
        let found = words(of: text, options)
        let isWhole = options.contains(.word)
        return wanted.allSatisfy { word in found.contains { isWhole ? $0 == word : $0.starts(with: word) } }
    }

    /// Returns the folded words of a text: runs of letters, digits, combining marks and underscores.
    private static func words(of text: UnsafeRawBufferPointer, _ options: Comparison.Options) -> [[UInt8]] {
        withFoldedText(
            text, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics
        ) { folded in
            let scalars = String(decoding: folded, as: UTF8.self).unicodeScalars
            return scalars.split { !isPartOfWord($0) }.map { word in word.flatMap { Array(UTF8.encode($0) ?? .init()) }
            }
        }
    }

    private static func isPartOfWord(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation:
            true
        default: false
        }
    }
}
