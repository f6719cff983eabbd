import CorestoneValues

/// A problem of the migration from earlier versions of a model to a newer one, or of a store in that migration.
public struct MigrationFinding: Hashable, Sendable {
    public let rule: MigrationRule
    public let severity: LintFinding.Severity
    /// The earlier versions whose migration has the problem, oldest first; empty for a finding about a store.
    public internal(set) var versions: [String]
    /// The path of the store; nil for a finding about models.
    public let store: String?
    public let entity: String?
    public let key: String?
    /// The problem: one sentence that names the part, and its former name or state where that is relevant.
    public let message: String
    /// The remedy; empty if the message implies it.
    public let remedy: String

    package init(
        _ rule: MigrationRule, _ severity: LintFinding.Severity? = nil, versions: [String] = [], store: String? = nil,
        entity: String? = nil, key: String? = nil, message: String, remedy: String
    ) {
        self.rule = rule
        self.severity = severity ?? rule.severity
        (self.versions, self.store, self.entity, self.key) = (versions, store, entity, key)
        (self.message, self.remedy) = (message, remedy)
    }

    /// Creates a finding from an error.
    ///
    /// - Parameter error: the error; the part of its message after the first semicolon is the remedy.
    package init(
        _ rule: MigrationRule, versions: [String] = [], store: String? = nil, _ error: CoreError
    ) {
        let parts = MigrationFinding.parts(error.message)
        self.init(
            rule, versions: versions, store: store, entity: error.entity, key: error.key, message: parts.message,
            remedy: parts.remedy)
    }

    private static func parts(_ text: String) -> (message: String, remedy: String) {
        let bytes = Array(text.utf8)
        guard
            let place = bytes.indices.dropLast().first(where: {
                bytes[$0] == UInt8(ascii: ";") && bytes[$0 + 1] == UInt8(ascii: " ")
            })
        else { return (text, "") }
        return (
            String(decoding: bytes[..<place], as: UTF8.self), String(decoding: bytes[(place + 2)...], as: UTF8.self)
        )
    }

    /// The finding as one line: store, message, remedy, rule, versions.
    public var text: String {
        let steps = versions.isEmpty ? "" : ", from " + versions.map { "\"\($0)\"" }.joined(separator: ", ")
        let subject = store.map { "\($0): " } ?? ""
        return "\(subject)\(message)\(remedy.isEmpty ? "" : "; \(remedy)") [\(rule.rawValue)\(steps)]"
    }
}

/// The rules of `MigrationGuard`; docs/reference/lint.md explains each.
public enum MigrationRule: String, Sendable, CaseIterable {
    case notInferable = "not-inferable"
    case typeChange = "type-change"
    case ambiguousIdentifier = "ambiguous-identifier"
    case missingIdentifier = "missing-identifier"
    case chainedIdentifier = "chained-identifier"
    case changedIdentifier = "changed-identifier"
    case unknownIdentifier = "unknown-identifier"
    case unappliedRename = "unapplied-rename"
    case requiredWithoutDefault = "required-without-default"
    case requiredRelationship = "required-relationship"
    case addedConstraint = "added-constraint"
    case abstractEntity = "abstract-entity"
    case removedEntity = "removed-entity"
    case removedProperty = "removed-property"
    case removedOrder = "removed-order"
    case narrowedDestination = "narrowed-destination"
    case indexOnly = "index-only"
    case modifierOnly = "modifier-only"
    case cloudKitNotAdditive = "cloudkit-not-additive"
    case editedRelease = "edited-release"
    case missingRelease = "missing-release"
    case damagedRelease = "damaged-release"
    case storeFails = "store-fails"
    case storeLosesData = "store-loses-data"
    case storeSkipped = "store-skipped"

    public var severity: LintFinding.Severity {
        switch self {
        case .requiredRelationship, .addedConstraint, .abstractEntity, .removedEntity, .removedProperty, .removedOrder,
            .narrowedDestination, .indexOnly, .storeLosesData:
            .warning
        case .modifierOnly, .storeSkipped: .note
        default: .error
        }
    }
}
