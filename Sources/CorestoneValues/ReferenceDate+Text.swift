extension ReferenceDate {
    /// Formats a date as ISO 8601 in UTC: `2024-02-29T12:34:56Z`.
    ///
    /// The fraction has the fewest digits from which parsing returns the same date, but at most nine. Years outside 0 …
    /// 9999 have a sign and at least six digits. Returns nil if the date is outside the calendar; see `civil`.
    public static func text(_ date: Double) -> String? {
        guard let time = civil(date) else { return nil }
        var text = yearText(time.year)
        for (mark, field) in [
            ("-", time.month), ("-", time.day), ("T", time.hour), (":", time.minute), (":", time.second),
        ] {
            text += mark + padded(field, 2)
        }
        return text + fractionText(time, of: date) + "Z"
    }

    /// Formats a date as `text` does, or as a number of seconds if it is outside the calendar.
    public static func description(_ date: Double) -> String {
        text(date) ?? "\(date) seconds after 2001-01-01T00:00:00Z"
    }

    private static func yearText(_ year: Int) -> String {
        0...9999 ~= year ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(abs(year), 6)
    }

    private static func fractionText(_ time: CivilTime, of date: Double) -> String {
        guard time.nanosecond != 0, let whole = wholeSeconds(time) else { return "" }
        var scale = 100_000_000
        for digits in 1..<9 {
            let shown = (time.nanosecond + scale / 2) / scale
            let power = 1_000_000_000 / scale
            if shown < power && Double(whole) + Double(shown) / Double(power) == date {
                return "." + padded(shown, digits)
            }
            scale /= 10
        }
        // Fewer than nine digits do not reproduce the date exactly.
        let digits = padded(time.nanosecond, 9)
        return "." + digits[...(digits.lastIndex { $0 != "0" } ?? digits.startIndex)]
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    /// Parses a date in ISO 8601.
    ///
    /// The text consists of a date, an optional time of day after `T` or a space, and `Z` or an offset. The time may
    /// have seconds, and the seconds a fraction. Examples of offsets: `+02:00`, `-0530`, `+02`. A space may precede the
    /// offset or `Z`. The second 60 becomes the first second of the next minute.
    ///
    /// - Parameter assumingUTC: whether text without `Z` or an offset, such as a date alone, is in UTC. If false, such
    ///   text is an error.
    /// - Throws: `.invalidArgument` for any other text, with the byte offset of the error and the expected part.
    public static func parse(_ text: String, assumingUTC: Bool = false) throws -> Double {
        var copy = text
        return try copy.withUTF8 { bytes in
            var reader = DateReader(bytes: bytes, text: text)
            return try reader.read(assumingUTC: assumingUTC)
        }
    }
}

private struct DateReader {
    let bytes: UnsafeBufferPointer<UInt8>
    let text: String
    var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>, text: String) {
        self.bytes = bytes
        self.text = text
    }

    mutating func read(assumingUTC: Bool) throws -> Double {
        var time = CivilTime(year: try year(), month: 1, day: 1)
        try expect("-", "a month")
        time.month = try number(2, 1...12, "a month from 01 to 12")
        try expect("-", "a day")
        time.day = try number(2, 1...31, "a day from 01 to 31")
        let days = ReferenceDate.daysInMonth(time.month, year: time.year)
        guard time.day <= days else {
            position -= 2
            throw failure("a day from 01 to \(days)")
        }
        var (isLeapSecond, fraction) = (false, 0.0)
        if accept("T") || accept("t") || (isDigit(position + 1) && accept(" ")) {
            time.hour = try number(2, 0...23, "an hour from 00 to 23")
            try expect(":", "minutes")
            time.minute = try number(2, 0...59, "minutes from 00 to 59")
            if accept(":") {
                time.second = try number(2, 0...60, "seconds from 00 to 60")
                if time.second == 60 { (isLeapSecond, time.second) = (true, 59) }
                if accept(".") || accept(",") { fraction = try readFraction() }
            }
        }
        let offset = try readOffset(assumingUTC: assumingUTC)
        guard position == bytes.count else { throw failure("the end of the text") }
        let limit = ReferenceDate.calendarLimit
        guard let whole = ReferenceDate.wholeSeconds(time),
            case let date = Double(whole + (isLeapSecond ? 1 : 0) - offset) + fraction, abs(date) <= limit
        else {
            position = 0
            throw failure("a date from \(ReferenceDate.description(-limit)) to \(ReferenceDate.description(limit))")
        }
        return date
    }

    private mutating func year() throws -> Int {
        let isSigned = position < bytes.count && (bytes[position] == 0x2B || bytes[position] == 0x2D)
        guard isSigned else { return try number(4, 0...9999, "a year of four digits") }
        let isNegative = bytes[position] == 0x2D
        position += 1
        let first = position
        var year = 0
        while isDigit(position), position - first < 8 {
            year = year * 10 + Int(bytes[position] - 0x30)
            position += 1
        }
        guard position - first >= 4 else { throw failure("a year of four to eight digits") }
        if isNegative { year = -year }
        let years = ReferenceDate.years
        guard years ~= year else {
            position = 0
            throw failure("a year from \(years.lowerBound) to \(years.upperBound)")
        }
        return year
    }

    /// Reads the fraction. Digits after the 18th are ignored, because they exceed the precision of a double.
    private mutating func readFraction() throws -> Double {
        guard isDigit(position) else { throw failure("digits of the fraction") }
        var (digits, power): (UInt64, UInt64) = (0, 1)
        while isDigit(position) {
            if power < 1_000_000_000_000_000_000 {
                digits = digits * 10 + UInt64(bytes[position] - 0x30)
                power *= 10
            }
            position += 1
        }
        return Double(digits) / Double(power)
    }

    private mutating func readOffset(assumingUTC: Bool) throws -> Int64 {
        let start = position
        _ = accept(" ")
        if accept("Z") || accept("z") { return 0 }
        let sign: Int64
        if accept("+") {
            sign = 1
        } else if accept("-") {
            sign = -1
        } else {
            position = start
            if assumingUTC { return 0 }
            guard position == bytes.count else { throw failure("Z for UTC or an offset such as +02:00") }
            throw CoreError(
                .invalidArgument,
                "\(text.quotedStart) does not have a time zone; append Z for UTC, or an offset such as +02:00",
                value: .string(text), offset: position)
        }
        let hours = try number(2, 0...23, "offset hours from 00 to 23")
        let hasColon = accept(":")
        let minutes = hasColon || isDigit(position) ? try number(2, 0...59, "offset minutes from 00 to 59") : 0
        return sign * Int64(hours * 3600 + minutes * 60)
    }

    private func isDigit(_ index: Int) -> Bool { index < bytes.count && bytes[index] >= 0x30 && bytes[index] <= 0x39 }

    private mutating func accept(_ mark: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == mark.value else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ mark: Unicode.Scalar, _ part: String) throws {
        guard accept(mark) else { throw failure("\"\(mark)\" and \(part)") }
    }

    private mutating func number(_ width: Int, _ range: ClosedRange<Int>, _ part: String) throws -> Int {
        var value = 0
        for index in position..<position + width {
            guard isDigit(index) else { throw failure(part) }
            value = value * 10 + Int(bytes[index] - 0x30)
        }
        guard range ~= value else { throw failure(part) }
        position += width
        return value
    }

    private func failure(_ expected: String) -> CoreError {
        CoreError(
            .invalidArgument, "\(text.quotedStart) is not a date: at byte \(position), expected \(expected)",
            value: .string(text), offset: position)
    }
}
