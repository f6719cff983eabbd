extension String {
    /// Appends text as a string of JSON: in quotes, with escapes for quotes, backslashes and all that a terminal would take for a
    /// command.
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
