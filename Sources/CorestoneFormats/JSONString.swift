import CorestoneValues

extension String {
    /// Appends a JSON string literal.
    ///
    /// Quotes, backslashes and characters that a terminal interprets as commands are escaped.
    package mutating func appendJSON(_ string: String) {
        self += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": self += "\\\""
            case "\\": self += "\\\\"
            case " "..."~": unicodeScalars.append(scalar)
            case "\n": self += "\\n"
            case "\r": self += "\\r"
            case "\t": self += "\\t"
            case _ where scalar.isCommand:
                let digits = String(scalar.value, radix: 16)
                self += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: unicodeScalars.append(scalar)
            }
        }
        self += "\""
    }
}
