import CorestoneValues
import XCTest

final class ReferenceDateTests: XCTestCase {
    func testKnownDatesConvertToTextAndBack() throws {
        let cases: [(Double, String)] = [
            (0, "2001-01-01T00:00:00Z"), (-1, "2000-12-31T23:59:59Z"), (-978_307_200, "1970-01-01T00:00:00Z"),
            (-26_524_800, "2000-02-29T00:00:00Z"), (730_900_800, "2024-02-29T12:00:00Z"),
            (-3_187_296_000, "1900-01-01T00:00:00Z"), (-3_182_198_400, "1900-03-01T00:00:00Z"),
            (3_124_137_600, "2100-01-01T00:00:00Z"), (3_129_235_200, "2100-03-01T00:00:00Z"),
            (-63_113_904_000, "0001-01-01T00:00:00Z"), (-63_145_526_400, "0000-01-01T00:00:00Z"),
            (-63_145_526_401, "-000001-12-31T23:59:59Z"), (252_423_993_600, "+010000-01-01T00:00:00Z"),
            (-978_250_148, "1970-01-01T15:50:52Z"), (0.5, "2001-01-01T00:00:00.5Z"), (-0.25, "2000-12-31T23:59:59.75Z"),
            (-1e-20, "2001-01-01T00:00:00Z"), (1_169_164_800, "2038-01-19T00:00:00Z"),
        ]
        for (date, text) in cases {
            XCTAssertEqual(ReferenceDate.text(date), text)
            XCTAssertEqual(try ReferenceDate.parse(text), date, accuracy: 1e-15)
        }
    }

    func testCalendarIsCorrectForEveryDayOfEightCenturies() throws {
        var day = try ReferenceDate.parse("1599-12-31T00:00:00Z")
        var last = try XCTUnwrap(ReferenceDate.civil(day))
        for _ in 0..<292_194 {
            day += 86400
            let time = try XCTUnwrap(ReferenceDate.civil(day))
            let isNewYear = last.month == 12 && last.day == 31
            let isNewMonth = last.day == ReferenceDate.daysInMonth(last.month, year: last.year)
            let expected =
                isNewYear
                ? CivilTime(year: last.year + 1, month: 1, day: 1)
                : isNewMonth
                    ? CivilTime(year: last.year, month: last.month + 1, day: 1)
                    : CivilTime(year: last.year, month: last.month, day: last.day + 1)
            guard time == expected, ReferenceDate.date(time) == day else {
                return XCTFail("\(time) follows \(last)")
            }
            last = time
        }
        XCTAssertEqual(last.year, 2399)
    }

    func testDateTextRoundTrips() throws {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<5000 {
            let date = Double.random(in: -1e10...1e10, using: &generator)
            let back = try ReferenceDate.parse(try XCTUnwrap(ReferenceDate.text(date)))
            // Within a few weeks of the reference date, a double is more precise than nine digits.
            XCTAssertEqual(back, date, accuracy: abs(date) < 1e7 ? 5e-10 : 0)
            let far = Double.random(in: -9e14...9e14, using: &generator).rounded()
            XCTAssertEqual(try ReferenceDate.parse(try XCTUnwrap(ReferenceDate.text(far))), far)
        }
    }

    func testTextOfDatesUpToTheCalendarLimitRoundTrips() throws {
        XCTAssertEqual(ReferenceDate.text(1e15), "+31690739-07-06T01:46:40Z")
        XCTAssertEqual(ReferenceDate.text(-1e15), "-31686738-06-29T22:13:20Z")
        XCTAssertEqual(ReferenceDate.text(9.9e14 + 0.5)?.hasSuffix(".5Z"), true)
        for date in [1e15, -1e15, 1e15.nextDown, (-1e15).nextUp, 9.8e14 + 0.5, -9.8e14 - 0.25, 9.99e14 + 0.125] {
            XCTAssertEqual(try ReferenceDate.parse(try XCTUnwrap(ReferenceDate.text(date))), date)
            XCTAssertEqual(try ReferenceDate.date(XCTUnwrap(ReferenceDate.civil(date))), date)
        }
    }

    func testDateFormsAndOffsetsAreParsed() throws {
        let noon = try ReferenceDate.parse("2024-02-29T12:00:00Z")
        for text in [
            "2024-02-29T14:00:00+02:00", "2024-02-29T06:30:00-0530", "2024-02-29t13:00+01", "2024-02-29 12:00:00 +0000",
            "2024-02-29T12:00:00,000z", "2024-03-01T02:00:00+14:00", "+002024-02-29T12:00Z",
        ] { XCTAssertEqual(try ReferenceDate.parse(text), noon, text) }
        XCTAssertEqual(try ReferenceDate.parse("2016-12-31T23:59:60Z"), try ReferenceDate.parse("2017-01-01T00:00:00Z"))
        XCTAssertEqual(try ReferenceDate.parse("2024-02-29T12:00:00", assumingUTC: true), noon)
        XCTAssertEqual(try ReferenceDate.parse("2024-02-29", assumingUTC: true), noon - 43200)
        for junk in [
            "", "2024", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
            "2024-02-29T24:00:00Z", "2024-02-29T12:60:00Z", "2024-02-29T12:00:61Z", "2024-02-29T12:00:00",
            "2024-02-29", "2024-02-29T12:00:00.Z", "2024-02-29T12:00:00Zx", "2024-02-29T12:00:00+2",
            "24-02-29T12:00:00Z",
            "+99999999999-01-01T00:00:00Z", "2024-02-29T12:00:00+24:00", "2024-2-29T12:00:00Z", "-1-01-01T00:00:00Z",
        ] { XCTAssertThrowsError(try ReferenceDate.parse(junk), junk) }
    }

    func testExtremeNumbersDoNotTrap() {
        for value in [
            Double.nan, .signalingNaN, .infinity, -.infinity, .greatestFiniteMagnitude, -1e300, 1e16, 1e15, -1e15,
            .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 1e15.nextUp,
        ] {
            let text = ReferenceDate.description(value)
            XCTAssertFalse(text.isEmpty)
            XCTAssertEqual(ReferenceDate.civil(value) == nil, !(abs(value) <= 1e15))
        }
        for time in [
            CivilTime(year: .max, month: 1, day: 1), CivilTime(year: 2000, month: .max, day: 1),
            CivilTime(year: 2000, month: 1, day: .min), CivilTime(year: .min, month: 1, day: 1),
            CivilTime(year: 2000, month: 1, day: 1, nanosecond: -1),
        ] { XCTAssertNil(ReferenceDate.date(time)) }
    }

    func testSyntaxErrorsNameTheByteOffset() {
        let day = "2024-02-29"
        for (text, offset, expected) in [
            ("", 0, "a year of four digits"), ("24-02-29", 0, "a year of four digits"),
            ("2024/02", 4, "\"-\" and a month"),
            ("2024-13-01", 5, "a month from 01 to 12"), ("2024-00-01", 5, "a month from 01 to 12"),
            ("2024-02/29", 7, "\"-\" and a day"), ("2024-02-32", 8, "a day from 01 to 31"),
            ("2024-02-00", 8, "a day from 01 to 31"), ("2023-02-29T00:00Z", 8, "a day from 01 to 28"),
            ("\(day)T24:00Z", 11, "an hour from 00 to 23"), ("\(day)T12.00Z", 13, "\":\" and minutes"),
            ("\(day)T12:60Z", 14, "minutes from 00 to 59"), ("\(day)T12:00:61Z", 17, "seconds from 00 to 60"),
            ("\(day)T12:00:00.Z", 20, "digits of the fraction"),
            ("\(day)T12:00:00 ", 19, "Z for UTC or an offset such as +02:00"),
            ("\(day)T12:00:00Q", 19, "Z for UTC or an offset such as +02:00"),
            ("\(day)T12:00:00+2", 20, "offset hours from 00 to 23"),
            ("\(day)T12:00:00+24", 20, "offset hours from 00 to 23"),
            ("\(day)T12:00:00-02:6", 23, "offset minutes from 00 to 59"),
            ("\(day)T12:00:00+02:", 23, "offset minutes from 00 to 59"),
            ("\(day)T12:00:00+0260", 22, "offset minutes from 00 to 59"),
            ("\(day)T12:00:00Zx", 20, "the end of the text"),
            ("+202-01-01T00:00Z", 4, "a year of four to eight digits"),
            ("+31690740-01-01T00:00Z", 0, "a year from -31686738 to 31690739"),
            ("-31686739-01-01T00:00Z", 0, "a year from -31686738 to 31690739"),
            (
                "+31690739-12-31T00:00Z", 0,
                "a date from -31686738-06-29T22:13:20Z to +31690739-07-06T01:46:40Z"
            ),
        ] {
            XCTAssertThrowsError(try ReferenceDate.parse(text), text) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.status, .invalidArgument)
                XCTAssertEqual(error?.message, "\"\(text)\" is not a date: at byte \(offset), expected \(expected)")
                XCTAssertEqual(error?.offset, offset, text)
                XCTAssertEqual(error?.value, .string(text))
            }
        }
        for text in [day, "\(day)T12:00:00"] {
            XCTAssertThrowsError(try ReferenceDate.parse(text), text) {
                let error = $0 as? CoreError
                XCTAssertEqual(error?.status, .invalidArgument)
                XCTAssertEqual(
                    error?.message,
                    "\"\(text)\" does not have a time zone; append Z for UTC, or an offset such as +02:00")
                XCTAssertEqual(error?.offset, text.utf8.count)
                XCTAssertEqual(error?.value, .string(text))
            }
        }
        XCTAssertThrowsError(try ReferenceDate.parse("2024-02-29 ", assumingUTC: true)) {
            XCTAssertEqual(($0 as? CoreError)?.offset, 10)
        }
    }

    func testFractionsLeapSecondsAndOffsetsAreAdded() throws {
        let second = try ReferenceDate.parse("2001-01-01T00:00:01Z")
        XCTAssertEqual(second, 1)
        for (text, expected) in [
            ("2001-01-01T00:00:00.25Z", 0.25), ("2001-01-01T00:00:00,5Z", 0.5), ("2000-12-31T23:59:60Z", 0),
            ("2000-12-31T23:59:60.5Z", 0.5), ("2001-01-01T00:00:00.1234567890123456789999Z", 0.123_456_789_012_345_678),
            ("2001-01-01T00:00:00+00:01", -60), ("2001-01-01T00:00:00-00:01", 60), ("2001-01-01T00:00:00+01", -3600),
            ("2001-01-01T00:00:00-0130", 5400), ("2001-01-01T00:00:00 Z", 0), ("2001-01-01T00:00:00 +23:59", -86340),
            ("2001-01-01T01:00Z", 3600), ("2001-01-01T00:01-23", 82860), ("+2001-01-01T00:00:00Z", 0),
        ] { XCTAssertEqual(try ReferenceDate.parse(text), expected, text) }
        XCTAssertEqual(try ReferenceDate.parse("2001-01-02T00:00:00+01:00", assumingUTC: true), 82800)
        XCTAssertNoThrow(try ReferenceDate.parse("+31000000-12-31T00:00Z"))
        XCTAssertNoThrow(try ReferenceDate.parse("-31000000-01-01T00:00Z"))
        XCTAssertEqual(try ReferenceDate.parse("-0001-01-01T00:00Z"), -63_177_062_400)
    }

    func testDateTextHasTheShortestExactFraction() {
        for (date, text) in [
            (0.1, "00:00:00.1"), (0.25, "00:00:00.25"), (0.123_456_789, "00:00:00.123456789"),
            (1e-9, "00:00:00.000000001"),
            (4e-10, "00:00:00"), (0.999_999_999_6, "00:00:01"), (0.95, "00:00:00.95"), (59.5, "00:00:59.5"),
            (3599, "00:59:59"), (86399.75, "23:59:59.75"),
        ] { XCTAssertEqual(ReferenceDate.text(date), "2001-01-01T\(text)Z", "\(date)") }
        XCTAssertEqual(ReferenceDate.text(-0.5), "2000-12-31T23:59:59.5Z")
        // No text represents these dates exactly.
        XCTAssertEqual(ReferenceDate.text(-0.1), "2000-12-31T23:59:59.9Z")
        XCTAssertEqual(ReferenceDate.text(-0.010_000_001), "2000-12-31T23:59:59.989999999Z")
        XCTAssertEqual(ReferenceDate.description(.infinity), "inf seconds after 2001-01-01T00:00:00Z")
        XCTAssertEqual(ReferenceDate.description(1.5e15), "1500000000000000.0 seconds after 2001-01-01T00:00:00Z")
        XCTAssertNil(ReferenceDate.text(.nan))
        XCTAssertNil(ReferenceDate.text((-1e15).nextDown))
        XCTAssertEqual(ReferenceDate(secondsSinceReference: 0.5).description, "2001-01-01T00:00:00.5Z")
    }

    func testCivilTimeFieldsOutOfRangeAreRejected() throws {
        let last = CivilTime(year: 2000, month: 12, day: 31, hour: 23, minute: 59, second: 59, nanosecond: 999_999_999)
        XCTAssertEqual(ReferenceDate.date(last), -1 + 0.999_999_999)
        XCTAssertEqual(ReferenceDate(last)?.civil, CivilTime(year: 2001, month: 1, day: 1).before(nanoseconds: 1))
        func change(_ change: (inout CivilTime) -> Void) -> CivilTime {
            var time = last
            change(&time)
            return time
        }
        for wrong in [
            change { $0.month = 0 }, change { $0.month = 13 }, change { $0.day = 0 }, change { $0.day = 32 },
            change { ($0.month, $0.day) = (4, 31) }, change { ($0.month, $0.day) = (2, 30) }, change { $0.hour = -1 },
            change { $0.hour = 24 }, change { $0.minute = -1 }, change { $0.minute = 60 }, change { $0.second = -1 },
            change { $0.second = 60 }, change { $0.nanosecond = 1_000_000_000 }, change { $0.year = 31_690_739 },
            change { $0.year = 31_690_740 }, change { $0.year = -31_686_739 },
        ] {
            XCTAssertNil(ReferenceDate.date(wrong), "\(wrong)")
            XCTAssertNil(ReferenceDate(wrong), "\(wrong)")
        }
        XCTAssertNotNil(ReferenceDate.date(change { ($0.month, $0.day) = (2, 29) }))
        XCTAssertEqual(
            (0...13).map { ReferenceDate.daysInMonth($0, year: 2023) },
            [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 0])
        XCTAssertEqual(
            [-400, -100, -4, 0, 1900, 2000, 2023, 2024, 2100].map { ReferenceDate.isLeap(year: $0) },
            [true, false, true, true, false, true, false, true, false])
    }

    func testDatesAreOrderedByInstant() throws {
        let (early, late) = (try ReferenceDate("2000-12-31T23:00:00Z"), try ReferenceDate("2000-12-31T23:00:00-01:00"))
        XCTAssertLessThan(early, late)
        XCTAssertFalse(late < early)
        XCTAssertEqual(late.secondsSinceReference, 0)
        XCTAssertEqual(early.secondsSinceReference, -3600)
        XCTAssertThrowsError(try ReferenceDate("2000-12-31"))
    }

    func testNowIsTheCurrentTime() {
        let now = ReferenceDate.now.secondsSinceReference
        XCTAssertEqual(now, Date().timeIntervalSinceReferenceDate, accuracy: 5)
    }
}

extension CivilTime {
    /// The time `nanoseconds` before this one, which is the start of a year.
    fileprivate func before(nanoseconds: Int) -> CivilTime {
        CivilTime(
            year: year - 1, month: 12, day: 31, hour: 23, minute: 59, second: 59,
            nanosecond: 1_000_000_000 - nanoseconds)
    }
}
