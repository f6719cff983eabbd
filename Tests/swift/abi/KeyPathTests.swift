import CCorestone
import XCTest

final class KeyPathTests: StaffTestCase {
    private var ada: Handle?
    private var lab: Handle?

    override func setUpWithError() throws {
        try super.setUpWithError()
        (ada, lab) = (employee("Ada", number: 1), named("Department", "Lab"))
        for (place, name) in ["Grace", "Edsger", "Barbara"].enumerated() {
            set(employee(name, number: Int64(place) + 2), "department", .object(lab))
        }
        set(ada, "department", .object(lab))
    }

    func testGetPathReadsPropertiesAndKeyPaths() {
        XCTAssertEqual(path(ada, "name").text, "Ada")
        XCTAssertEqual(path(ada, "department").target, lab)
        XCTAssertEqual(path(ada, "department.name").text, "Lab")
        XCTAssertTrue(path(ada, "manager").isNull)
        XCTAssertTrue(path(ada, "manager.name").isNull)
        XCTAssertEqual(path(ada, "objectID").type, cst_type(CST_OBJECT_ID))
    }

    func testGetPathEvaluatesCollectionOperators() {
        XCTAssertEqual(path(lab, "employees.@count").integer, 4)
        XCTAssertEqual(path(lab, "employees.@sum.number").integer ?? -1, 10)
        XCTAssertEqual(path(lab, "employees.@max.number").integer, 4)
        XCTAssertEqual(path(ada, "department.employees.@min.name").text, "Ada")
        XCTAssertEqual(path(ada, "department.employees.@max.name").text, "Grace")
    }

    func testComputedTextStaysValidAcrossLaterCalls() {
        let first = path(lab, "employees.@min.name")
        let second = path(lab, "employees.@max.name")
        for _ in 0..<100 { _ = path(lab, "employees.@max.name") }
        XCTAssertEqual(first.text, "Ada")
        XCTAssertEqual(second.text, "Grace")
    }

    func testRepeatedPathReadsDoNotAccumulateHandles() {
        let before = cst_handle_count()
        for _ in 0..<5_000 { _ = path(ada, "objectID") }
        XCTAssertLessThan(cst_handle_count() - before, 10)
    }

    func testInvalidPathsFailAndSetTheValueToNull() {
        for wrong in [
            "nope", "department.nope", "", ".", "name.", ".name", "department..name", "@count", "employees.@nope.x",
        ] {
            var value = cst_value.raw(0xFF, filledWith: 0xFF)
            var error: Handle?
            XCTAssertLessThan(cst_object_get_path(ada, text(wrong), &value, &error), 0, wrong)
            XCTAssertTrue(value.isNull, wrong)
            XCTAssertNotNil(error)
            release(error)
        }
        var value = cst_value()
        refuses(CST_E_TYPE_MISMATCH) { cst_object_get_path(lab, text("employees"), &value, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_path(ada, .null, &value, $0) }
        refuses(CST_E_INVALID_UTF8) { cst_object_get_path(ada, bytes([0xFF]), &value, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_path(ada, text("name"), nil, $0) }
    }

    func testPathOfTwentyThousandKeysIsRead() {
        let long = Array(repeating: "manager", count: 20_000).joined(separator: ".")
        XCTAssertTrue(path(ada, long).isNull)
        set(ada, "manager", .object(ada))
        XCTAssertEqual(path(ada, long).target, ada)
        XCTAssertEqual(path(ada, long + ".name").text, "Ada")
        set(ada, "manager", .null)
    }

    func testSetPathSetsPropertiesOfRelatedObjects() {
        var value = self.value("Research")
        ok { cst_object_set_path(ada, text("department.name"), &value, $0) }
        XCTAssertEqual(get(lab, "name", "Department").text, "Research")
        value = .int(12)
        ok { cst_object_set_path(ada, text("number"), &value, $0) }
        XCTAssertEqual(get(ada, "number").integer, 12)
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set_path(ada, text("manager.number"), &value, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set_path(ada, text("nope"), &value, $0) }
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_set_path(ada, text("number"), nil, $0) }
    }

    func testSetPathErrorNamesTheKeyThatBlocksThePath() {
        var value = self.value("Research")
        for (path, obstacle) in [
            ("notes.length", "\"notes\" does not have properties; end the path there"),
            ("name.length.x", "\"name\" does not have properties; end the path there"),
            ("manager.manager.name", "\"manager\" is nil; set it first"),
            (
                "department.employees.manager.name",
                "\"department.employees\" is not a single object; set the property of each object"
            ),
            ("self.name", "\"self\" is not a property; use only properties in the path"),
            ("department.objectID", "\"objectID\" is not a property that can be set; end the path with a property"),
        ] {
            let problem = refuses(CST_E_INVALID_ARGUMENT) { cst_object_set_path(ada, text(path), &value, $0) }
            XCTAssertTrue(problem.message.hasSuffix(": \(obstacle)"), problem.message)
        }
    }

    func testGetPathsReadsSeveralPaths() {
        let paths = [text("name"), text("department.name"), text("department.employees.@count")]
        var values = [cst_value](repeating: .raw(0xFF, filledWith: 0xFF), count: 3)
        ok { cst_object_get_paths(ada, 3, paths, &values, $0) }
        XCTAssertEqual(values[0].text, "Ada")
        XCTAssertEqual(values[1].text, "Lab")
        XCTAssertEqual(values[2].integer, 4)
        let wrong = [paths[0], text("nope")]
        values = [cst_value](repeating: .raw(0xFF, filledWith: 0xFF), count: 3)
        refuses(CST_E_INVALID_ARGUMENT) { cst_object_get_paths(ada, 2, wrong, &values, $0) }
        XCTAssertTrue(values[1].isNull)
    }

    func testFailedSetPathsChangesNothing() {
        let paths = [text("name"), text("department.name")]
        ok { cst_object_set_paths(ada, 2, paths, [value("A"), value("L")], $0) }
        XCTAssertEqual(get(ada, "name").text, "A")
        XCTAssertEqual(get(lab, "name", "Department").text, "L")
        refuses(CST_E_TYPE_MISMATCH) { cst_object_set_paths(ada, 2, paths, [value("B"), .int(1)], $0) }
        refuses(CST_E_INVALID_ARGUMENT) {
            cst_object_set_paths(ada, 2, [paths[0], text("manager.name")], [value("B"), value("C")], $0)
        }
        XCTAssertEqual(get(ada, "name").text, "A")
        XCTAssertEqual(get(lab, "name", "Department").text, "L")
    }
}
