import CUTF8Proc

/// The order of strings without ICU: punctuation, then digits, then letters.
///
/// Texts with the same letters are ordered by accents, unaccented first, then by case, lower case first.
struct PlainCollation {
    let options: Collation.Options
    /// Whether runs of digits are compared as numbers.
    var isNumeric = false

    func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let letters = folded(a, b, [.caseInsensitive, .diacriticInsensitive], PlainCollation.rank)
        if letters != 0 || options == [.caseInsensitive, .diacriticInsensitive] { return letters }
        if !options.contains(.diacriticInsensitive) {
            let accents = folded(a, b, .caseInsensitive, PlainCollation.byte)
            if accents != 0 || options == .caseInsensitive { return accents }
        }
        // The order of the bytes is reversed, because lower case is first, but has the greater codes in nearly every
        // script.
        return -folded(a, b, options, PlainCollation.byte)
    }

    /// A function that returns a sort key for the element at an index of a text, and advances the index.
    private typealias Element = (UnsafeRawBufferPointer, inout Int) -> UInt32

    private func folded(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ options: Collation.Options, _ element: Element
    ) -> Int {
        let (ignoresCase, ignoresDiacritics) = (
            options.contains(.caseInsensitive), options.contains(.diacriticInsensitive)
        )
        return withFoldedText(a, caseInsensitive: ignoresCase, diacriticInsensitive: ignoresDiacritics) { x in
            withFoldedText(b, caseInsensitive: ignoresCase, diacriticInsensitive: ignoresDiacritics) {
                compare(x, $0, element)
            }
        }
    }

    private func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ element: Element) -> Int {
        var (i, j) = (0, 0)
        while i < a.count, j < b.count {
            if isNumeric, isDigit(a[i]), isDigit(b[j]) {
                let order = compareNumbers(a, &i, b, &j)
                if order != 0 { return order }
                continue
            }
            let (x, y) = (element(a, &i), element(b, &j))
            if x != y { return x < y ? -1 : 1 }
        }
        return (a.count - i) - (b.count - j)
    }

    /// Compares the numbers at both indexes, with any number of digits and leading zeros, and advances the indexes.
    private func compareNumbers(
        _ a: UnsafeRawBufferPointer, _ i: inout Int, _ b: UnsafeRawBufferPointer, _ j: inout Int
    ) -> Int {
        let (first, second) = (digits(a, &i), digits(b, &j))
        if first.count != second.count { return first.count - second.count }
        return compareBytes(UnsafeRawBufferPointer(rebasing: first), UnsafeRawBufferPointer(rebasing: second))
    }

    private func digits(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> Slice<UnsafeRawBufferPointer> {
        while index < text.count, text[index] == UInt8(ascii: "0") { index += 1 }
        let start = index
        while index < text.count, isDigit(text[index]) { index += 1 }
        return text[start..<index]
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func byte(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> UInt32 {
        defer { index += 1 }
        return UInt32(text[index])
    }

    /// Returns the rank of the character at `index` among all characters, and advances the index.
    private static func rank(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> UInt32 {
        let byte = text[index]
        if byte < 0x80 {
            index += 1
            return ranks[Int(byte)]
        }
        var scalar: Int32 = 0
        let start = text.bindMemory(to: UInt8.self).baseAddress
        let length = start.map { utf8proc_iterate($0 + index, text.count - index, &scalar) } ?? 0
        index += max(length, 1)
        if length <= 0 { return UInt32.max - 255 + UInt32(byte) }
        let category = utf8proc_category(scalar).rawValue
        let isLetterOrNumber = category <= UTF8PROC_CATEGORY_NO.rawValue && category != 0
        return UInt32(scalar) + (isLetterOrNumber ? letters : symbols)
    }

    /// The first ranks of each group. Symbols beyond ASCII are ranked between ASCII's punctuation and the digits.
    private static let symbols: UInt32 = 1 << 8
    private static let digits: UInt32 = 1 << 24
    private static let letters: UInt32 = 1 << 25

    /// The ranks of the 128 ASCII characters, with punctuation in the order of the Unicode collation.
    private static let ranks: [UInt32] = {
        var ranks = (0..<128).map { UInt32($0) }
        for (place, byte) in #" _-,;:!?.'"()[]{}@*/\&#%`^+<=>|~$"#.utf8.enumerated() {
            ranks[Int(byte)] = 128 + UInt32(place)
        }
        for digit in 0..<10 { ranks[48 + digit] = digits + UInt32(digit) }
        for letter in 0..<26 {
            ranks[97 + letter] = letters + UInt32(letter)
            ranks[65 + letter] = letters + UInt32(letter)
        }
        return ranks
    }()
}
