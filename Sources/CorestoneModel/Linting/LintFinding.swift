/// Something in a model that is wrong, or that people regret later.
public struct LintFinding: Hashable, Sendable {
    public enum Severity: String, Sendable {
        /// It does not work.
        case error
        /// It works otherwise than most expect.
        case warning
        /// It is worth a thought.
        case note
    }

    public let rule: LintRule
    public let severity: Severity
    public let entity: String?
    public let key: String?
    /// What is there, in one sentence that names it.
    public let message: String
    public let remedy: String
}

/// What a model is meant for.
public enum LintProfile: String, Sendable, CaseIterable {
    /// Any store.
    case standard
    /// A store that CloudKit mirrors, beside the standard rules.
    case cloudKit = "cloudkit"
}

/// What is looked for; docs/reference/lint.md says of each why.
public enum LintRule: String, Sendable, CaseIterable {
    case reservedName = "reserved-name"
    case nameCollision = "name-collision"
    case sharedColumnName = "shared-column-name"
    case abstractWithoutChildren = "abstract-without-children"
    case noInverse = "no-inverse"
    case inverseMismatch = "inverse-mismatch"
    case cascadeBothWays = "cascade-both-ways"
    case noAction = "no-action"
    case requiredWithoutDefault = "required-without-default"
    case unsupportedDerivation = "unsupported-derivation"
    case transientInIndex = "transient-in-index"
    case unknownInIndex = "unknown-in-index"
    case repeatedIndex = "repeated-index"
    case unservedRTree = "unserved-rtree"
    case transientInConstraint = "transient-in-constraint"
    case unknownInConstraint = "unknown-in-constraint"
    case unknownEntity = "unknown-entity"
    case unreadablePredicate = "unreadable-predicate"
    case unknownKey = "unknown-key"
    case transientInPredicate = "transient-in-predicate"
    case unknownVariable = "unknown-variable"
    case chainedRenaming = "chained-renaming"
    case cloudKitRequired = "cloudkit-required"
    case cloudKitRelationship = "cloudkit-relationship"
    case cloudKitOrdered = "cloudkit-ordered"
    case cloudKitUnique = "cloudkit-unique"
    case cloudKitDeny = "cloudkit-deny"
    case cloudKitType = "cloudkit-type"
    case cloudKitConfiguration = "cloudkit-configuration"

    public var severity: LintFinding.Severity {
        switch self {
        case .reservedName, .nameCollision, .noInverse, .cascadeBothWays, .noAction, .repeatedIndex,
            .unservedRTree, .transientInPredicate,
            .abstractWithoutChildren, .chainedRenaming:
            .warning
        case .sharedColumnName, .requiredWithoutDefault: .note
        default: .error
        }
    }
}
