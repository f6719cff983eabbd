import CorestonePredicate
import CorestoneValues
import XCTest

/// The sample cases of the predicate language.
final class SampleCaseTests: XCTestCase {
    func testSampleCasesPass() throws {
        guard let cases = SampleCase.all() else {
            if SampleCase.areRequired { return XCTFail("the sample cases are missing") }
            throw XCTSkip("the sample cases do not exist")
        }
        var passed: [String: Int] = [:]
        var total: [String: Int] = [:]
        for sample in cases where !sample.isExcluded {
            let kind = sample.kind == "evaluate" ? "evaluate \(sample.mode)" : sample.kind
            total[kind, default: 0] += 1
            if let complaint = failureReason(sample) {
                XCTFail(
                    "\(sample.id) \(sample.format) \(sample.arguments.map { Expression.constant($0).format }): \(complaint)"
                )
            } else {
                passed[kind, default: 0] += 1
            }
        }
        for (kind, count) in total.sorted(by: { $0.key < $1.key }) {
            print("\(kind): \(passed[kind] ?? 0) of \(count)")
        }
        print("excluded: \(cases.count(where: \.isExcluded)) contested or of a store")
    }

    /// nil if the case passes.
    private func failureReason(_ sample: SampleCase) -> String? {
        do {
            switch sample.kind {
            case "parse_ok":
                _ = try Predicate.parse(sample.format, arguments: sample.arguments)
                return nil
            case "parse_error":
                if sample.mode == "expression" {
                    _ = try Expression.parse(sample.format, arguments: sample.arguments)
                } else {
                    _ = try Predicate.parse(sample.format, arguments: sample.arguments)
                }
                return "was parsed"
            case "format_roundtrip":
                let printed = try format(sample)
                return printed == sample.text("expected") ? nil : "printed \(printed)"
            default:
                let value = try evaluate(sample)
                if sample.expected.member("$throws") != nil { return "gave \(Expression.constant(value).format)" }
                return value.meets(sample.expected) ? nil : "gave \(Expression.constant(value).format)"
            }
        } catch let error as CoreError {
            if sample.kind == "parse_error" {
                return error.status == .predicateSyntax && error.offset >= 0 ? nil : "threw \(error)"
            }
            if sample.expected.member("$throws") != nil { return nil }
            return "threw \(error)"
        } catch {
            return "threw \(error)"
        }
    }

    private func format(_ sample: SampleCase) throws -> String {
        if sample.mode == "expression" {
            return try Expression.parse(sample.format, arguments: sample.arguments).format
        }
        var predicate = try predicate(sample)
        if case .dictionary(let values) = sample.fields["substitute"] {
            predicate = try predicate.substituting(values.mapValues(\.decoded))
        }
        return predicate.format
    }

    private func predicate(_ sample: SampleCase) throws -> Predicate {
        guard let compose = sample.fields["compose"] else {
            return try Predicate.parse(sample.format, arguments: sample.arguments)
        }
        let parts = try compose.member("of")?.elements?.map { try Predicate.parse($0.textual?.string ?? "") } ?? []
        let type: CompoundType =
            switch compose.member("op")?.textual?.string {
            case "and": .and
            case "or": .or
            default: .not
            }
        return .compound(try Compound(type, parts))
    }

    private func evaluate(_ sample: SampleCase) throws -> PropertyValue {
        let object = sample.object
        switch sample.mode {
        case "expression":
            return try Expression.parse(sample.format, arguments: sample.arguments)
                .value(with: object, variables: sample.variables)
        case "keypath": return try KeyPathEvaluation.value(of: object, atKeyPath: sample.format)
        case "filter":
            let predicate = try predicate(sample)
            return .array(
                try object.elements?.filter { try predicate.evaluate(with: $0, variables: sample.variables) } ?? [])
        case "sort": return try sort(object.elements ?? [], sample)
        default: return .bool(try predicate(sample).evaluate(with: object, variables: sample.variables))
        }
    }

    private func sort(_ elements: [PropertyValue], _ sample: SampleCase) throws -> PropertyValue {
        let descriptors = try (sample.fields["sort"]?.elements ?? []).map { field in
            SortDescriptor(
                path: KeyPath(field.member("key")?.textual?.string ?? "self"),
                ascending: field.member("ascending") != .bool(false),
                selector: try XCTUnwrap(
                    SortDescriptor.Selector(rawValue: field.member("selector")?.textual?.string ?? "")))
        }
        return .array(try SortDescriptor.sorted(elements, by: descriptors))
    }
}
