import CorestoneGraph

extension StoreLocation {
    /// Returns the path of a companion file such as `-wal`, for messages.
    ///
    /// If the store's path is a symbolic link, the companion is next to the link's target.
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
