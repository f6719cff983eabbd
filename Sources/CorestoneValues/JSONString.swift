extension String {
    /// Appends text as a string of JSON: in quotes, with escapes for quotes, backslashes and control characters, DEL among them.
    package mutating func appendJSON(_ string: String) {
        self += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": self += "\\\""
            case "\\": self += "\\\\"
            case "\n": self += "\\n"
            case "\r": self += "\\r"
            case "\t": self += "\\t"
            case "\u{0}"..<" ", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                self += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: unicodeScalars.append(scalar)
            }
        }
        self += "\""
    }
}
