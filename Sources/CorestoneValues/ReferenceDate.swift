import Glibc

/// A time of the proleptic Gregorian calendar, in UTC.
///
/// Years are astronomical: year 0 precedes year 1, and the years before year 0 are negative.
public struct CivilTime: Hashable, Sendable {
    public var year: Int
    /// The month, 1 … 12.
    public var month: Int
    /// The day, 1 … 31.
    public var day: Int
    public var hour: Int
    public var minute: Int
    public var second: Int
    /// The nanosecond, 0 … 999,999,999.
    public var nanosecond: Int

    public init(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, nanosecond: Int = 0
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.nanosecond = nanosecond
    }
}

/// A date as Core Data stores it: seconds since 2001-01-01 00:00:00 UTC, negative before that.
public struct ReferenceDate: Hashable, Comparable, Sendable {
    public let secondsSinceReference: Double

    public init(secondsSinceReference seconds: Double) { secondsSinceReference = seconds }

    /// Creates a date from a calendar date; returns nil if a field is out of range.
    public init?(_ time: CivilTime) {
        guard let seconds = ReferenceDate.date(time) else { return nil }
        self.init(secondsSinceReference: seconds)
    }

    /// Parses ISO 8601; see `parse`.
    public init(_ text: String) throws { self.init(secondsSinceReference: try ReferenceDate.parse(text)) }

    /// The current date and time of the system clock.
    public static var now: ReferenceDate { ReferenceDate(secondsSinceReference: currentSeconds) }

    public static func < (a: ReferenceDate, b: ReferenceDate) -> Bool {
        a.secondsSinceReference < b.secondsSinceReference
    }

    /// The calendar date in UTC; nil for NaN, infinities and dates beyond `calendarLimit`.
    public var civil: CivilTime? { ReferenceDate.civil(secondsSinceReference) }
}

extension ReferenceDate: CustomStringConvertible {
    /// The date in ISO 8601, in UTC; the number of seconds if the date is outside the calendar.
    public var description: String { ReferenceDate.description(secondsSinceReference) }
}

// MARK: - Seconds and the calendar

extension ReferenceDate {
    /// The seconds from the Unix epoch to the reference date.
    public static let unixOffset: Int64 = 978_307_200
    /// The largest distance of a calendar date from the reference date, in seconds: about 31 million years.
    public static let calendarLimit = 1e15
    /// The years of the first and the last calendar date.
    static let years = -31_686_738...31_690_739

    /// The current date, in seconds since the reference date.
    public static var currentSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(Int64(time.tv_sec) - unixOffset) + Double(time.tv_nsec) / 1e9
    }

    /// Converts a date to a calendar date, rounded to the nearest nanosecond.
    ///
    /// Returns nil for NaN, infinities and dates beyond the limit.
    public static func civil(_ date: Double) -> CivilTime? {
        guard abs(date) <= calendarLimit else { return nil }
        let floor = date.rounded(.down)
        var seconds = Int64(floor)
        var nanoseconds = Int(((date - floor) * 1e9).rounded())
        if nanoseconds == 1_000_000_000 {
            seconds += 1
            nanoseconds = 0
        }
        let (days, time) = floorDivide(seconds, 86400)
        var civil = civilDay(days)
        (civil.hour, civil.minute, civil.second) = (Int(time / 3600), Int(time / 60 % 60), Int(time % 60))
        civil.nanosecond = nanoseconds
        return civil
    }

    /// Converts a calendar date in UTC to seconds since the reference date.
    ///
    /// Returns nil if a field is out of range, such as 30 February, or the date is beyond `calendarLimit`.
    public static func date(_ time: CivilTime) -> Double? {
        guard let whole = wholeSeconds(time), 0..<1_000_000_000 ~= time.nanosecond else { return nil }
        let date = Double(whole) + Double(time.nanosecond) / 1e9
        return abs(date) <= calendarLimit ? date : nil
    }

    static func wholeSeconds(_ time: CivilTime) -> Int64? {
        guard years ~= time.year, 1...12 ~= time.month, time.day >= 1,
            time.day <= daysInMonth(time.month, year: time.year), 0..<24 ~= time.hour, 0..<60 ~= time.minute,
            0..<60 ~= time.second
        else { return nil }
        return dayNumber(time) * 86400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
    }

    public static func isLeap(year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Returns the number of days of a month; 0 if `month` is not 1 … 12.
    public static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 2: isLeap(year: year) ? 29 : 28
        case 4, 6, 9, 11: 30
        case 1, 3, 5, 7, 8, 10, 12: 31
        default: 0
        }
    }

    // MARK: - Days
    //
    // Years start in March here, so that the leap day is the last day of its year. 400 years have 146,097 days.

    /// The days from 0000-03-01 to 2001-01-01.
    private static let referenceDay: Int64 = 730_791

    private static func dayNumber(_ time: CivilTime) -> Int64 {
        let year = Int64(time.month > 2 ? time.year : time.year - 1)
        let (era, yearOfEra) = floorDivide(year, 400)
        let month = Int64((time.month + 9) % 12)
        let dayOfYear = (153 * month + 2) / 5 + Int64(time.day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - referenceDay
    }

    private static func civilDay(_ day: Int64) -> CivilTime {
        let (era, dayOfEra) = floorDivide(day + referenceDay, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = Int(shifted < 10 ? shifted + 3 : shifted - 9)
        return CivilTime(
            year: Int(era * 400 + yearOfEra) + (month <= 2 ? 1 : 0), month: month,
            day: Int(dayOfYear - (153 * shifted + 2) / 5) + 1)
    }

    private static func floorDivide(_ a: Int64, _ b: Int64) -> (Int64, Int64) {
        let (quotient, rest) = a.quotientAndRemainder(dividingBy: b)
        return rest < 0 ? (quotient - 1, rest + b) : (quotient, rest)
    }
}
