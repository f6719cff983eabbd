import CUTF8Proc

/// Converts text to the form that comparisons use.
///
/// The text is canonically decomposed, so that composed and decomposed spellings are equal, then folded as the options
/// specify.
///
/// - Parameters:
///   - bytes: UTF-8. Invalid bytes are kept unchanged.
///   - caseInsensitive: full Unicode case folding (`ß` becomes `ss`), independent of any locale.
///   - diacriticInsensitive: removes marks with a combining class other than 0 and 9: accents, Hebrew points, Arabic
///     vowel signs and similar marks. The vowel signs and viramas of Indic scripts are kept, because they are parts of
///     letters. With both options, the width of East Asian forms is ignored too, as by `[cd]` in a predicate.
public func foldText(_ bytes: UnsafeRawBufferPointer, caseInsensitive: Bool, diacriticInsensitive: Bool) -> Text {
    withFoldedText(bytes, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive) {
        Text(utf8: $0)
    }
}

/// Runs `body` with the folded bytes, which are valid only during the call.
///
/// ASCII text is not copied unless case is folded. Short ASCII text does not need a heap allocation.
public func withFoldedText<Result>(
    _ bytes: UnsafeRawBufferPointer, caseInsensitive: Bool, diacriticInsensitive: Bool,
    _ body: (UnsafeRawBufferPointer) throws -> Result
) rethrows -> Result {
    guard isASCII(bytes) else {
        let folded = foldUnicode(bytes, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive)
        return try folded.withUnsafeBytes(body)
    }
    guard caseInsensitive else { return try body(bytes) }
    return try withUnsafeTemporaryAllocation(byteCount: max(bytes.count, 1), alignment: 1) { memory in
        for index in 0..<bytes.count { memory[index] = lowercaseASCII(bytes[index]) }
        return try body(UnsafeRawBufferPointer(rebasing: memory[..<bytes.count]))
    }
}

/// Compares two texts under the options. Returns a negative number, zero or a positive number.
public func compareFolded(
    _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, caseInsensitive: Bool, diacriticInsensitive: Bool
) -> Int {
    if isASCII(a), isASCII(b) {
        guard caseInsensitive else { return compareBytes(a, b) }
        for index in 0..<min(a.count, b.count) {
            let (x, y) = (lowercaseASCII(a[index]), lowercaseASCII(b[index]))
            if x != y { return x < y ? -1 : 1 }
        }
        return a.count - b.count
    }
    return withFoldedText(a, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive) { x in
        withFoldedText(b, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive) { y in
            compareBytes(x, y)
        }
    }
}

@inline(__always) func lowercaseASCII(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool { asciiPrefix(bytes) == bytes.count }

// MARK: - Beyond ASCII

private func foldUnicode(_ bytes: UnsafeRawBufferPointer, caseInsensitive: Bool, diacriticInsensitive: Bool) -> [UInt8]
{
    let options =
        caseInsensitive ? UTF8PROC_DECOMPOSE.rawValue | UTF8PROC_CASEFOLD.rawValue : UTF8PROC_DECOMPOSE.rawValue
    var scalars: [Int32] = []
    scalars.reserveCapacity(bytes.count)
    let start = bytes.bindMemory(to: UInt8.self)
    var position = 0
    var boundary: Int32 = 0
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: decompositionLimit) { parts in
        while position < bytes.count, let base = start.baseAddress {
            var scalar: Int32 = 0
            let length = utf8proc_iterate(base + position, bytes.count - position, &scalar)
            guard length > 0 else {
                // An invalid byte gets a code beyond all characters, from which `encode` restores the byte.
                scalars.append(strayByte | Int32(bytes[position]))
                position += 1
                continue
            }
            position += length
            if options == UTF8PROC_DECOMPOSE.rawValue, !diacriticInsensitive, decomposesToASCII(scalar) {
                scalars.append(scalar)
                continue
            }
            let ignoresWidth = caseInsensitive && diacriticInsensitive && isWidthVariant(scalar)
            let count = utf8proc_decompose_char(
                scalar, parts.baseAddress, decompositionLimit,
                utf8proc_option_t(options | (ignoresWidth ? UTF8PROC_COMPAT.rawValue : 0)), &boundary)
            guard count > 0, count <= decompositionLimit else {
                scalars.append(scalar)
                continue
            }
            for part in parts[..<count] where !(diacriticInsensitive && isDiacritic(part)) { scalars.append(part) }
        }
    }
    orderMarks(&scalars)
    return encode(scalars)
}

/// More than the longest decomposition of one character (18, with compatibility).
private let decompositionLimit = 32
private let strayByte: Int32 = 1 << 24

/// Whether a character is one of the three that decompose into a single ASCII character.
///
/// They are kept, because a search for the ASCII character with a store's index would not find them either.
private func decomposesToASCII(_ scalar: Int32) -> Bool { scalar == 0x212A || scalar == 0x37E || scalar == 0x1FEF }

private func isWidthVariant(_ scalar: Int32) -> Bool { scalar == 0x3000 || scalar >= 0xFF01 && scalar <= 0xFFEE }

private func combiningClass(_ scalar: Int32) -> Int {
    scalar < 0x300 || scalar >= strayByte ? 0 : Int(utf8proc_get_property(scalar).pointee.combining_class)
}

private func isDiacritic(_ scalar: Int32) -> Bool {
    let order = combiningClass(scalar)
    return order != 0 && order != virama
}

private let virama = 9

/// Sorts each run of combining marks by class, keeping marks of one class in order.
private func orderMarks(_ scalars: inout [Int32]) {
    var first = 0
    while first < scalars.count {
        guard combiningClass(scalars[first]) != 0 else {
            first += 1
            continue
        }
        var end = first + 1
        while end < scalars.count, combiningClass(scalars[end]) != 0 { end += 1 }
        if end - first > 1 {
            let run = scalars[first..<end].map { (order: combiningClass($0), scalar: $0) }
            let sorted = run.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            for (index, mark) in sorted.enumerated() { scalars[first + index] = mark.element.scalar }
        }
        first = end
    }
}

private func encode(_ scalars: [Int32]) -> [UInt8] {
    Array(unsafeUninitializedCapacity: scalars.count * 4) { bytes, count in
        for scalar in scalars {
            if scalar >= strayByte {
                bytes.initializeElement(at: count, to: UInt8(truncatingIfNeeded: scalar))
                count += 1
            } else if let base = bytes.baseAddress {
                count += utf8proc_encode_char(scalar, base + count)
            }
        }
    }
}

/// Whether a combining mark starts at `position`, so that the character before it is not complete.
package func startsWithMark(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Bool {
    guard position < bytes.count, bytes[position] >= 0xCC, let base = bytes.bindMemory(to: UInt8.self).baseAddress
    else {
        return false
    }
    var scalar: Int32 = 0
    guard utf8proc_iterate(base + position, bytes.count - position, &scalar) > 0 else { return false }
    return combiningClass(scalar) != 0
}
