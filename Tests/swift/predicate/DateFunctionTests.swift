import CorestonePredicate
import CorestoneValues
import XCTest

/// Parts and truncations of dates.
final class DateFunctionTests: XCTestCase {
    private func value(_ function: String, _ date: String) throws -> PropertyValue {
        let object = PropertyValue.dictionary(["date": .date(try ReferenceDate(date).secondsSinceReference)])
        return try Expression.parse("\(function):(date)").value(with: object)
    }

    func testPartsOfADateAreThoseOfUTC() throws {
        let parts: [(String, Int64)] = [
            ("year", 2024), ("quarter", 1), ("month", 2), ("weekOfYear", 9), ("dayOfYear", 60), ("day", 29),
            ("weekday", 4), ("hour", 23), ("minute", 59), ("second", 58),
        ]
        for (name, part) in parts {
            XCTAssertEqual(try value(name, "2024-02-29T23:59:58.999Z"), .int(part), name)
        }
        XCTAssertEqual(try value("hour", "2024-02-29T01:00:00+02:00"), .int(23))
        XCTAssertEqual(try value("second", "1999-12-31T23:59:59.9999Z"), .int(59))
    }

    func testWeeksAreThoseOfISO8601() throws {
        let weeks: [(String, Int64, Int64)] = [
            ("2021-01-03", 53, 7), ("2021-01-04", 1, 1), ("2020-12-31", 53, 4), ("2018-12-31", 1, 1),
            ("2016-01-01", 53, 5), ("2015-12-28", 53, 1), ("2023-01-01", 52, 7), ("2000-02-29", 9, 2),
            ("1999-01-03", 53, 7),
            ("1970-01-01", 1, 4),
        ]
        for (day, week, weekday) in weeks {
            XCTAssertEqual(try value("weekOfYear", day + "T12:00:00Z"), .int(week), day)
            XCTAssertEqual(try value("weekday", day + "T12:00:00Z"), .int(weekday), day)
        }
    }

    func testTruncationReturnsTheStartOfThePeriod() throws {
        let starts = [
            ("startOfYear", "2023-01-01T00:00:00Z"), ("startOfQuarter", "2023-10-01T00:00:00Z"),
            ("startOfMonth", "2023-12-01T00:00:00Z"), ("startOfWeek", "2023-11-27T00:00:00Z"),
            ("startOfDay", "2023-12-03T00:00:00Z"), ("startOfHour", "2023-12-03T10:00:00Z"),
            ("startOfMinute", "2023-12-03T10:11:00Z"),
        ]
        for (name, start) in starts {
            XCTAssertEqual(
                try value(name, "2023-12-03T10:11:12.5Z"), .date(try ReferenceDate(start).secondsSinceReference), name)
        }
    }

    func testEveryPeriodContainsItsDate() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let seconds = Double.random(in: -4e10...4e10, using: &generator)
            let object = PropertyValue.dictionary(["date": .date(seconds)])
            for name in ["Year", "Quarter", "Month", "Week", "Day", "Hour", "Minute"] {
                let format = "startOf\(name):(date)"
                guard case .date(let start) = try Expression.parse(format).value(with: object) else {
                    return XCTFail("\(format) of \(seconds)")
                }
                XCTAssertLessThanOrEqual(start, seconds)
                XCTAssertTrue(
                    try Predicate.parse("startOf\(name)(\(format)) == \(format)").evaluate(with: object),
                    "\(name) of \(seconds)")
                if name != "Week" {
                    XCTAssertTrue(try Predicate.parse("year(\(format)) == year(date)").evaluate(with: object))
                }
            }
        }
    }

    func testNilAndDatesOutsideTheCalendarAreNil() throws {
        for value in [PropertyValue.null, .date(1e300), .date(.nan), .date(.infinity)] {
            let object = PropertyValue.dictionary(["date": value])
            XCTAssertEqual(try Expression.parse("year:(date)").value(with: object), .null)
            XCTAssertEqual(try Expression.parse("startOfDay:(date)").value(with: object), .null)
        }
    }

    func testOtherValuesAreRefused() throws {
        for value in [PropertyValue.int(1), .string("2024-01-01")] {
            let object = PropertyValue.dictionary(["date": value])
            XCTAssertThrowsError(try Expression.parse("month(date)").value(with: object)) { error in
                XCTAssertEqual((error as? CoreError)?.status, .predicate)
                XCTAssertTrue("\(error)".contains("month: takes a date"), "\(error)")
            }
        }
    }

    func testFunctionsAreParsedAndPrinted() throws {
        for (format, printed) in [
            ("year(made) == 2024", "year:(made) == 2024"), ("startOfWeek:(made) > now()", "startOfWeek:(made) > now()"),
            ("year == 2024 AND day > month", "year == 2024 AND day > month"),
        ] {
            XCTAssertEqual(try Predicate.parse(format).format, printed)
        }
    }
}
