import CUTF8Proc
import Glibc

/// The position in a text at which a search must match.
public enum TextAnchor: Sendable { case anywhere, start, end }

/// Whether `text` contains `part` under the options, as tested by CONTAINS, BEGINSWITH and ENDSWITH.
///
/// Composed and decomposed spellings match each other. A letter does not match a letter with an accent unless
/// diacritics are ignored. An empty part never matches, as in `rangeOfString:`.
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

/// Whether `text` contains `part`, which `foldText` has already converted with these options.
///
/// Avoids repeated conversions of `part` when many texts are searched.
public func containsFolded(
    _ text: UnsafeRawBufferPointer, folded part: UnsafeRawBufferPointer, caseInsensitive: Bool,
    diacriticInsensitive: Bool, anchor: TextAnchor = .anywhere
) -> Bool {
    guard part.count > 0 else { return false }
    return withFoldedText(text, caseInsensitive: caseInsensitive, diacriticInsensitive: diacriticInsensitive) { text in
        findFolded(text, part, anchor: anchor)
    }
}

/// Whether `text` contains `part`, where composed and decomposed spellings match each other.
public func containsText(
    _ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer, anchor: TextAnchor = .anywhere
) -> Bool {
    if part.count == 0 { return false }
    // An ASCII part can be searched by bytes. A letter of the text that would decompose into an ASCII letter and a mark
    // never matches that ASCII letter.
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
