import CorestoneValues

/// The form of a constant right side that a comparison prepares once for all objects.
enum PreparedOperand: Sendable {
    /// The right side is not a constant, or does not need preparation.
    case none
    /// A folded or decomposed text.
    case folded(Text)
    case like(LikePattern)
    /// The compiled pattern, or its compilation error, which the evaluation throws.
    case regularExpression(Result<RegularExpression, CoreError>)
    /// A list as a set, for lookups.
    case members(Set<PropertyValue>)

    /// The largest number of elements for which a linear search is faster than hashing.
    private static let longList = 8

    init(_ right: Expression, of operation: Comparison.Operator, options: Comparison.Options) {
        if operation == .in, case .constant(.array(let members)) = right, members.count > PreparedOperand.longList {
            self = .members(Set(members))
            return
        }
        guard let text = right.constantValue?.textual else {
            self = .none
            return
        }
        switch operation {
        case .like:
            self = .like(LikePattern(folding(text, options)))
        case .matches:
            self = .regularExpression(
                Result { () throws(CoreError) in try PreparedOperand.compile(text, options) })
        case .beginsWith, .endsWith, .contains:
            // The text is prepared even without options, because text that is not ASCII must be decomposed.
            let isLiteral = options.contains(.normalized) || (!options.folds && text.isASCII)
            self = isLiteral ? .none : .folded(decomposing(text, options))
        default:
            self = .none
        }
    }

    private static func compile(_ text: Text, _ options: Comparison.Options) throws(CoreError) -> RegularExpression {
        do {
            return try compilePattern(text, options, isCached: false)
        } catch let error as CoreError {
            throw error
        } catch {
            throw CoreError(.internal, "\(error)")
        }
    }
}

/// Compiles a pattern of MATCHES for the options.
package func compilePattern(_ text: Text, _ options: Comparison.Options, isCached: Bool) throws -> RegularExpression {
    let pattern =
        options.foldsDiacritics ? foldText(text.utf8, caseInsensitive: false, diacriticInsensitive: true) : text
    if isCached { return try RegularExpressionCache.expression(pattern, caseInsensitive: options.foldsCase) }
    return try RegularExpression(pattern, caseInsensitive: options.foldsCase)
}

/// Returns the text in the form for searches: decomposed, and folded as the options specify.
private func decomposing(_ text: Text, _ options: Comparison.Options) -> Text {
    foldText(text.utf8, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics)
}

/// Returns the text in the form for comparisons: folded if the options require it.
package func folding(_ text: Text, _ options: Comparison.Options) -> Text {
    options.folds
        ? foldText(text.utf8, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics) : text
}

extension PropertyValue {
    /// The text of a string or URI; nil for other values.
    package var textual: Text? {
        switch self {
        case .text(let text), .uri(let text): text
        default: nil
        }
    }
}
