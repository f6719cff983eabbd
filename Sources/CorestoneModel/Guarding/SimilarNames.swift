import CorestoneValues

/// Whether two names are probably the old and the new name of one part.
///
/// True for `createdAt` and `creation_date`, but not for `startDate` and `endDate`.
///
/// - Parameter context: names of the owner, whose words are ignored: `title` of Note matches `noteTitle`.
func areSimilarNames(_ one: String, _ other: String, within context: [String] = []) -> Bool {
    let (first, second) = (words(of: one), words(of: other))
    if first.joined() == second.joined() { return true }
    let ignored = neutralWords.union(context.flatMap(words))
    let (a, b) = (significant(first, ignored), significant(second, ignored))
    guard a.count == b.count else { return false }
    return zip(a, b).allSatisfy(areSimilarWords)
        || a.count == 2 && areSimilarWords(a[0], b[1]) && areSimilarWords(a[1], b[0])
}

/// Splits a name into words in lower case: `isRead`, `created_at`, `URLString`, `line2`.
func words(of name: String) -> [String] {
    var (found, word) = ([String](), "")
    let letters = Array(name)
    for (place, letter) in letters.enumerated() {
        let isStart =
            place > 0
            && (letter.isNumber != letters[place - 1].isNumber || letter.isUppercase && letters[place - 1].isLowercase
                || letter.isUppercase && letters[place - 1].isUppercase && place + 1 < letters.count
                    && letters[place + 1].isLowercase)
        if letter == "_" || isStart, !word.isEmpty {
            found.append(word)
            word = ""
        }
        if letter != "_" { word += letter.lowercased() }
    }
    return word.isEmpty ? found : found + [word]
}

private func significant(_ words: [String], _ ignored: Set<String>) -> [String] {
    let rest = words.filter { !ignored.contains($0) }
    return rest.isEmpty ? words : rest
}

private func areSimilarWords(_ one: String, _ other: String) -> Bool {
    if one == other { return true }
    // Different numbers denote different parts.
    if one.allSatisfy(\.isNumber) || other.allSatisfy(\.isNumber) { return false }
    if synonyms.contains(where: { $0.contains(one) && $0.contains(other) }) { return true }
    let (a, b) = (Array(one), Array(other))
    let common = zip(a, b).prefix { $0 == $1 }.count
    if common >= 3, endings.contains(String(a[common...])), endings.contains(String(b[common...])) { return true }
    // A single edit is probably a misspelling, which seldom affects the first letter.
    return min(a.count, b.count) >= 4 && common > 0 && isSingleEdit(a, b)
}

/// Whether one letter was added, omitted or replaced, or two adjacent letters were exchanged.
private func isSingleEdit(_ a: [Character], _ b: [Character]) -> Bool {
    if a.count > b.count { return isSingleEdit(b, a) }
    guard b.count - a.count <= 1 else { return false }
    let start = zip(a, b).prefix { $0 == $1 }.count
    if a.count < b.count { return a[start...].elementsEqual(b[(start + 1)...]) }
    if start >= a.count { return true }
    if a[(start + 1)...].elementsEqual(b[(start + 1)...]) { return true }
    return start + 1 < a.count && a[start] == b[start + 1] && a[start + 1] == b[start]
        && a[(start + 2)...].elementsEqual(b[(start + 2)...])
}

/// The words that seldom distinguish two properties.
private let neutralWords: Set<String> = [
    "a", "an", "the", "is", "has", "my", "value", "text", "string", "raw", "full", "display", "object", "property",
    "attribute", "field",
]

/// The endings of forms of one word, such as `created` and `creation`.
private let endings: Set<String> = ["", "s", "es", "y", "ies", "d", "ed", "ied", "e", "ion", "ation", "cation", "ing"]

private let synonyms: [Set<String>] = [
    ["title", "name", "headline", "heading", "caption", "label"], ["text", "body", "content", "contents"],
    ["date", "time", "timestamp", "at", "on"], ["image", "photo", "picture"], ["color", "colour", "paint", "tint"],
    ["url", "uri", "link", "href"], ["description", "desc", "summary", "detail", "details"], ["mail", "email"],
    ["phone", "telephone"], ["id", "identifier", "uid", "uuid", "guid"], ["kind", "type", "category"],
    ["order", "position", "index", "rank"], ["note", "comment", "remark", "memo"],
    ["author", "owner", "creator", "writer"], ["finished", "completed", "done"],
    ["modified", "updated", "changed", "edited"], ["price", "cost"], ["tag", "label", "keyword"], ["start", "begin"],
    ["end", "finish", "stop"], ["deleted", "removed", "trashed"], ["favorite", "favourite", "starred"],
    ["quantity", "amount", "count"], ["created", "added", "inserted"], ["active", "enabled"],
]
