import CorestoneGraph

extension StorePlace {
    /// The path as an SQLite URI.
    var uri: String {
        "file:" + path.replacing(["%", "?", "#"], with: ["%25", "%3f", "%23"])
    }
}

extension String {
    fileprivate func replacing(_ marks: [Character], with codes: [String]) -> String {
        var result = ""
        for character in self {
            if let place = marks.firstIndex(of: character) { result += codes[place] } else { result.append(character) }
        }
        return result
    }
}
