/// A problem of a model, or a likely mistake.
public struct LintFinding: Hashable, Sendable {
    public enum Severity: String, Sendable {
        /// A part of the model does not work.
        case error
        /// The model works, but probably not as intended.
        case warning
        /// The model works; the finding is a suggestion.
        case note
    }

    public let rule: LintRule
    public let severity: Severity
    public let entity: String?
    public let key: String?
    /// A sentence that states the problem and names the affected part of the model.
    public let message: String
    public let remedy: String
}

/// The intended use of a model.
public enum LintProfile: String, Sendable, CaseIterable {
    /// Any store.
    case standard
    /// A store that CloudKit mirrors. Adds rules to the standard ones.
    case cloudKit = "cloudkit"
}

/// The rules of the linter; docs/reference/lint.md explains each.
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
