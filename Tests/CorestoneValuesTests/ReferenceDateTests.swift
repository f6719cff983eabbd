import CorestoneValues
import XCTest

final class ReferenceDateTests: XCTestCase {
    func testKnownDates() throws {
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

    func testEveryDayOfEightCenturiesFollowsTheLast() throws {
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

    func testTextRoundTrips() throws {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<5000 {
            let date = Double.random(in: -1e10...1e10, using: &generator)
            let back = try ReferenceDate.parse(try XCTUnwrap(ReferenceDate.text(date)))
            // Within some weeks of the reference date a double is finer than the nine digits.
            XCTAssertEqual(back, date, accuracy: abs(date) < 1e7 ? 5e-10 : 0)
            let far = Double.random(in: -9e14...9e14, using: &generator).rounded()
            XCTAssertEqual(try ReferenceDate.parse(try XCTUnwrap(ReferenceDate.text(far))), far)
        }
    }

    func testOffsetsAndForms() throws {
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

    func testNoNumberTraps() {
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

    func testNow() {
        let now = ReferenceDate.now.secondsSinceReference
        XCTAssertEqual(now, Date().timeIntervalSinceReferenceDate, accuracy: 5)
    }
}
