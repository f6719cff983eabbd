import CCorestone
import CorestoneModel
import CorestoneValues

@_cdecl("cst_model_copy_lint") @implementation
public func cst_model_copy_lint(
    _ pointer: OpaquePointer?, _ profile: cst_string, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        try out.fill(json(try model(pointer).lint(try lintProfile(profile))))
    }
}

@_cdecl("cst_model_copy_version_lint") @implementation
public func cst_model_copy_version_lint(
    _ pointer: OpaquePointer?, _ profile: cst_string, _ count: Int, _ former: UnsafePointer<OpaquePointer?>?,
    _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let former = try array(former, count, "former").map { try model($0) }
        try out.fill(json(try model(pointer).lint(try lintProfile(profile), formerVersions: former)))
    }
}

func lintProfile(_ text: cst_string) throws -> LintProfile {
    let name = try text.optionalString("profile") ?? LintProfile.standard.rawValue
    if let profile = LintProfile(rawValue: name) { return profile }
    let known = LintProfile.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
    throw CoreError(
        .invalidArgument, "\"\(name)\" is not a lint profile; use \(known)", key: "profile", value: .string(name))
}

private func json(_ findings: [LintFinding]) -> String { JSONText(.array(findings.map(\.fields))).text }

@_cdecl("cst_model_copy_diff") @implementation
public func cst_model_copy_diff(
    _ pointer: OpaquePointer?, _ newer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_buffer>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_json")
        let changes = try model(pointer).changes(to: try model(newer))
        try out.fill(JSONText(.array(changes.map(\.fields))).text)
    }
}

private func optional(_ text: String?) -> PropertyValue { text.map { .string($0) } ?? .null }

extension LintFinding {
    fileprivate var fields: PropertyValue {
        .dictionary([
            "rule": .string(rule.rawValue), "severity": .string(severity.rawValue), "entity": optional(entity),
            "key": optional(key), "message": .string(message), "remedy": .string(remedy),
        ])
    }
}

extension ModelChange {
    fileprivate var fields: PropertyValue {
        .dictionary([
            "action": .string(action.rawValue), "part": .string(part.rawValue), "entity": optional(entity),
            "name": optional(name), "field": optional(field), "old": old, "new": new,
            "changesHash": .bool(changesHash), "text": .string(text),
        ])
    }
}
