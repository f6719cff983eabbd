import CorestoneValues

// The parts and truncations of dates, in UTC and the proleptic Gregorian calendar. Weeks are those of ISO 8601: they
// begin on Monday, and the first week of a year contains its first Thursday.
extension Function {
    /// Whether the function takes a date: its result is a part of the date, or the start of a period.
    package var takesDate: Bool {
        switch self {
        case .year, .quarter, .month, .weekOfYear, .dayOfYear, .day, .weekday, .hour, .minute, .second: true
        default: startsPeriod
        }
    }

    /// Whether the result is the start of the period that contains the date.
    package var startsPeriod: Bool {
        switch self {
        case .startOfYear, .startOfQuarter, .startOfMonth, .startOfWeek, .startOfDay, .startOfHour, .startOfMinute: true
        default: false
        }
    }

    /// Returns the result for a date in seconds since the reference date; null for a date outside the calendar.
    ///
    /// Nanoseconds are not rounded: the parts of a date are those of the second that contains it.
    func result(ofDate seconds: Double) -> PropertyValue {
        guard let time = ReferenceDate.civil(seconds.rounded(.down)) else { return .null }
        func number(_ value: Int) -> PropertyValue { .int(Int64(value)) }
        switch self {
        case .year: return number(time.year)
        case .quarter: return number((time.month + 2) / 3)
        case .month: return number(time.month)
        case .day: return number(time.day)
        case .hour: return number(time.hour)
        case .minute: return number(time.minute)
        case .second: return number(time.second)
        case .weekday: return number(time.weekday)
        case .dayOfYear: return number(time.dayOfYear)
        case .weekOfYear: return number(time.weekOfYear)
        default: return start(of: time).flatMap { ReferenceDate.date($0) }.map { .date($0) } ?? .null
        }
    }

    /// Returns the start of the period that contains a time.
    private func start(of time: CivilTime) -> CivilTime? {
        var start = CivilTime(year: time.year, month: 1, day: 1)
        switch self {
        case .startOfQuarter: start.month = (time.month - 1) / 3 * 3 + 1
        case .startOfMonth: start.month = time.month
        case .startOfWeek:
            // Midnight of a day is exact, so that whole days can be subtracted.
            (start.month, start.day) = (time.month, time.day)
            return ReferenceDate.date(start).flatMap { ReferenceDate.civil($0 - Double(time.weekday - 1) * 86400) }
        case .startOfDay: (start.month, start.day) = (time.month, time.day)
        case .startOfHour: (start.month, start.day, start.hour) = (time.month, time.day, time.hour)
        case .startOfMinute:
            (start.month, start.day, start.hour, start.minute) = (time.month, time.day, time.hour, time.minute)
        default: break
        }
        return start
    }
}

extension CivilTime {
    /// The day of the week, from 1 for Monday to 7 for Sunday.
    fileprivate var weekday: Int {
        // 2001-01-01 was a Monday.
        let days = Int((ReferenceDate.date(CivilTime(year: year, month: month, day: day)) ?? 0) / 86400)
        return (days % 7 + 7) % 7 + 1
    }

    fileprivate var dayOfYear: Int {
        (1..<month).reduce(day) { $0 + ReferenceDate.daysInMonth($1, year: year) }
    }

    /// The week of ISO 8601, 1 … 53; the first days of a year may belong to the last week of the year before.
    fileprivate var weekOfYear: Int {
        let week = (dayOfYear - weekday + 10) / 7
        if week == 0 { return CivilTime.weeks(inYear: year - 1) }
        return week > CivilTime.weeks(inYear: year) ? 1 : week
    }

    /// Returns 53 for a year that begins or ends on a Thursday, and otherwise 52.
    private static func weeks(inYear year: Int) -> Int {
        let days = [CivilTime(year: year, month: 1, day: 1), CivilTime(year: year, month: 12, day: 31)]
        return days.contains { $0.weekday == 4 } ? 53 : 52
    }
}
