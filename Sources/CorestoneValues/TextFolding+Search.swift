import CUTF8Proc
import Glibc

/// Where a text must hold another one.
public enum TextAnchor: Sendable { case anywhere, start, end }

/// Whether `text` holds `part` under the options: CONTAINS, BEGINSWITH and ENDSWITH.
///
/// Composed and decomposed spellings agree, and a letter is not found within a letter with an accent unless diacritics
/// are ignored. An empty part is in no text, as in `rangeOfString:`.
public func containsFolded(
    _ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer, caseInsensitive: Bool, diacriticInsensitive: Bool,
    anchor: TextAnchor = .anywhere
) -> Bool {
    withFoldedText(part, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive) { part in
        containsFolded(
            text, folded: part, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive,
            anchor: anchor)
    }
}

/// The same with a part that went through `foldText` with these options, for those who look for it in many texts.
public func containsFolded(
    _ text: UnsafeRawBufferPointer, folded part: UnsafeRawBufferPointer, caseInsensitive: Bool,
    diacriticInsensitive: Bool, anchor: TextAnchor = .anywhere
) -> Bool {
    guard part.count > 0 else { return false }
    return withFoldedText(text, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive) { text in
        findFolded(text, part, anchor: anchor)
    }
}

/// Whether `text` holds `part` letter by letter, whichever of the two is composed and whichever decomposed.
public func containsText(
    _ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer, anchor: TextAnchor = .anywhere
) -> Bool {
    if part.count == 0 { return false }
    // ASCII is found where its bytes are: what decomposes into it ends with a mark, which spoils the match.
    if isASCII(part) { return findFolded(text, part, anchor: anchor) }
    return containsFolded(text, part, caseInsensitive: false, diacriticInsensitive: false, anchor: anchor)
}

private func findFolded(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer, anchor: TextAnchor) -> Bool {
    guard part.count <= text.count, let whole = text.baseAddress, let sought = part.baseAddress else { return false }
    switch anchor {
    case .start: return memcmp(whole, sought, part.count) == 0 && !startsWithMark(text, at: part.count)
    case .end: return memcmp(whole + (text.count - part.count), sought, part.count) == 0
    case .anywhere: break
    }
    var position = 0
    while position + part.count <= text.count,
        let found = memmem(whole + position, text.count - position, sought, part.count)
    {
        let start = UnsafeRawPointer(found) - whole
        if !startsWithMark(text, at: start + part.count) { return true }
        position = start + 1
    }
    return false
}
