import CorestoneGraph

extension StorePlace {
    /// The path of a companion, for messages: beside the file itself when the path is that of a link.
    func companion(_ suffix: String) -> String { (path == absolute ? given : path) + suffix }

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
