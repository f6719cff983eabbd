import CorestoneFormats
@testable import CorestoneModel
import CorestonePredicate
import CorestoneValues
import XCTest

/// Archives of fetch requests outside a model.
final class FetchRequestArchiveTests: XCTestCase {
    private func again(_ change: (inout FetchRequestArchive) throws -> Void) throws -> FetchRequestArchive {
        var archive = FetchRequestArchive(FetchRequestTemplate(entityName: "E"))
        try change(&archive)
        return try FetchRequestArchive(try archive.encoded())
    }

    func testDefaultRequestRoundTrips() throws {
        let read = try again { _ in }
        XCTAssertEqual(read.template, FetchRequestTemplate(entityName: "E"))
        XCTAssertEqual(read.columns.count, 0)
        XCTAssertEqual(read.groupBy, [])
        XCTAssertNil(read.having)
        XCTAssertEqual([read.includesPendingChanges, read.refreshesRefetched, read.allowsSplit], [true, false, true])
        XCTAssertEqual(read.nulls, 0)
    }

    func testEveryFlagRoundTripsAlone() throws {
        let flags: [WritableKeyPath<FetchRequestArchive, Bool>] = [
            \.includesPendingChanges, \.refreshesRefetched, \.allowsSplit, \.template.includesSubentities,
            \.template.includesPropertyValues, \.template.returnsObjectsAsFaults, \.template.returnsDistinctResults,
        ]
        let usual = [true, false, true, true, true, true, false]
        for place in flags.indices {
            let read = try again { $0[keyPath: flags[place]].toggle() }
            let expected = usual.enumerated().map { $0 == place ? !$1 : $1 }
            XCTAssertEqual(flags.map { read[keyPath: $0] }, expected)
        }
        XCTAssertEqual(try again { $0.nulls = 2 }.nulls, 2)
    }

    func testEveryFieldOfARequestRoundTrips() throws {
        let read = try again {
            $0.template.predicate = PredicateText("name == $N")
            ($0.template.limit, $0.template.offset, $0.template.batchSize) = (3, 4, 5)
            $0.template.resultType = .dictionaries
            $0.template.sortDescriptors = [SortDescriptor("a", ascending: false), SortDescriptor("b")]
            $0.template.relationshipKeyPathsForPrefetching = ["r", "s.t"]
            $0.groupBy = ["a", "b"]
            $0.having = try Predicate.parse("total > 3")
            $0.columns = [
                FetchRequestArchive.Column(name: "a"),
                FetchRequestArchive.Column(
                    name: "total", expression: try Expression.parse("sum:(n)"), type: .integer64),
                FetchRequestArchive.Column(name: "any", expression: try Expression.parse("max:(n)")),
            ]
        }
        XCTAssertEqual(read.template.predicate?.text, "name == $N")
        XCTAssertEqual([read.template.limit, read.template.offset, read.template.batchSize], [3, 4, 5])
        XCTAssertEqual(read.template.resultType, .dictionaries)
        XCTAssertEqual(read.template.sortDescriptors.map(\.keyPath), ["a", "b"])
        XCTAssertEqual(read.template.sortDescriptors.map(\.ascending), [false, true])
        XCTAssertEqual(read.template.relationshipKeyPathsForPrefetching, ["r", "s.t"])
        XCTAssertEqual(read.groupBy, ["a", "b"])
        XCTAssertEqual(read.having?.format, "total > 3")
        XCTAssertEqual(read.columns.map(\.name), ["a", "total", "any"])
        XCTAssertEqual(read.columns.map { $0.expression?.format }, [nil, "sum:(n)", "max:(n)"])
        XCTAssertEqual(read.columns.map(\.type), [.undefined, .integer64, .undefined])
    }

    func testMoreThanAThousandColumnsAreRejected() throws {
        let names = (0..<1001).map { "c\($0)" }
        for (count, isRead) in [(1000, true), (1001, false)] {
            for isGroup in [true, false] {
                func read() throws -> FetchRequestArchive {
                    try again {
                        if isGroup {
                            $0.groupBy = Array(names[..<count])
                        } else {
                            $0.columns = names[..<count].map { FetchRequestArchive.Column(name: $0) }
                        }
                    }
                }
                if isRead {
                    XCTAssertEqual(try read().groupBy.count + read().columns.count, 1000)
                } else {
                    XCTAssertThrowsError(try read()) {
                        XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
                        XCTAssertEqual(
                            ($0 as? CoreError)?.message,
                            "the archived fetch request has 1001 \(isGroup ? "grouping keys" : "columns"), but the "
                                + "limit is 1000; remove some of them"
                        )
                    }
                }
            }
        }
    }

    func testInvalidArchivesAreRejected() throws {
        XCTAssertThrowsError(try FetchRequestArchive(try encodeArchive(.int(1)))) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
            XCTAssertEqual(
                ($0 as? CoreError)?.message,
                "the root of the archive is not a fetch request; pass the result of cst_fetch_request_copy_archive (to_archive, archived)"
            )
        }
        XCTAssertThrowsError(try FetchRequestArchive([])) {
            XCTAssertEqual(($0 as? CoreError)?.status, .storeCorrupt)
        }
        XCTAssertThrowsError(try again { $0.template.predicate = PredicateText("name ==") }) {
            XCTAssertEqual(($0 as? CoreError)?.status, .predicateSyntax)
        }
    }

    func testNegativeNumbersAreReadAsZero() throws {
        let bytes = KeyedArchiver().archive { archiver in
            archiver.add(
                KeyedArchiver.ClassName("NSFetchRequest"),
                [
                    "NSFetchLimit": .integer(-1), "NSFetchOffset": .integer(-2), "NSBatchSize": .integer(-3),
                    "NSResultType": .integer(3),
                    "NSSortDescriptors": archiver.array([
                        archiver.add(KeyedArchiver.ClassName("NSSortDescriptor"), ["NSKey": archiver.string("a")]),
                        archiver.add(KeyedArchiver.ClassName("NSSortDescriptor"), ["NSAscending": .bool(false)]),
                        archiver.add(
                            KeyedArchiver.ClassName("NSSortDescriptor"),
                            [
                                "NSKey": archiver.string("b"), "NSSelector": archiver.string("odd:"),
                                "NSAscending": .bool(false),
                            ]),
                    ]),
                ])
        }
        let template = try FetchRequestArchive(bytes).template
        XCTAssertEqual(template.entityName, "")
        XCTAssertEqual([template.limit, template.offset, template.batchSize], [0, 0, 0])
        XCTAssertEqual(template.resultType, .objects)
        XCTAssertEqual(
            template.sortDescriptors, [SortDescriptor("a"), SortDescriptor("b", ascending: false)],
            "a sort descriptor without a key is skipped")
    }
}
