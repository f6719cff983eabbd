import CorestoneValues

/// The evaluation of TOKENMATCHES.
///
/// Every word of one text must begin a word of the other, in any order. With the option `w`, whole words must match.
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

    /// Returns the words of a text, folded: runs of letters, digits and their combining marks.
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
