import CorestoneValues

/// What a comparison prepares once from a constant right side, so that no object pays for it.
enum PreparedOperand: Sendable {
    /// The right side is no constant, or needs no preparation.
    case none
    /// A folded text.
    case folded(Text)
    case like(LikePattern)
    /// The compiled pattern, or why it could not be compiled: told when the predicate is evaluated, not when it is made.
    case regularExpression(Result<RegularExpression, CoreError>)
    /// A list to look values up in.
    case members(Set<PropertyValue>)

    /// Up to this many elements a list is faster searched than hashed.
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
            // Without options too: a part that is not ASCII is decomposed once.
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

/// The compiled pattern of MATCHES with these options.
package func compilePattern(_ text: Text, _ options: Comparison.Options, isCached: Bool) throws -> RegularExpression {
    let pattern =
        options.foldsDiacritics ? foldText(text.utf8, caseInsensitive: false, diacriticInsensitive: true) : text
    if isCached { return try RegularExpressionCache.expression(pattern, caseInsensitive: options.foldsCase) }
    return try RegularExpression(pattern, caseInsensitive: options.foldsCase)
}

/// The text as the options let it be found in others: decomposed, and folded.
private func decomposing(_ text: Text, _ options: Comparison.Options) -> Text {
    foldText(text.utf8, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics)
}

/// The text as the options let it be compared.
package func folding(_ text: Text, _ options: Comparison.Options) -> Text {
    options.folds
        ? foldText(text.utf8, caseInsensitive: options.foldsCase, diacriticInsensitive: options.foldsDiacritics) : text
}

extension PropertyValue {
    /// The text of strings and URIs.
    package var textual: Text? {
        switch self {
        case .text(let text), .uri(let text): text
        default: nil
        }
    }
}
