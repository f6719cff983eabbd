import CorestonePredicate
import CorestoneValues

/// The string functions that a store registers with its database.
///
/// With them, SQL compares strings as the in-memory evaluator does. The arguments of each function are two texts and a
/// bit mask of options: 1 ignores case, 2 ignores diacritics, 4 compares the texts without normalisation, 8 orders by
/// the locale. Each function returns NULL if a text is NULL. The functions are deterministic. Their second text is
/// usually a constant, for which a `StoreFunction.Matcher` can be cached.
package enum StoreFunction: String, CaseIterable, Sendable {
    /// A comparison that returns -1, 0 or 1.
    case compare = "cst_compare"
    /// A search for a substring. Like all functions below, it returns 1 or 0.
    case contains = "cst_contains"
    case beginsWith = "cst_begins"
    case endsWith = "cst_ends"
    case like = "cst_like"
    case matches = "cst_matches"

    package static let argumentCount: Int32 = 3
}

extension StoreFunction {
    /// A function with its second text and options, prepared for many first texts. Any thread may use it.
    package struct Matcher: Sendable {
        private enum Prepared {
            case text(Text)
            case like(LikePattern)
            case regularExpression(RegularExpression)
        }

        private let function: StoreFunction
        private let options: Comparison.Options
        private let prepared: Prepared

        /// Prepares a function for its second text.
        ///
        /// - Parameter options: The third argument of the function.
        /// - Throws: `Status.predicate` for an invalid regular expression.
        package init(_ function: StoreFunction, _ text: Text, options: Int64) throws {
            self.function = function
            self.options = Comparison.Options(rawValue: UInt8(truncatingIfNeeded: options & 15))
            switch function {
            case .like: prepared = .like(LikePattern(folding(text, self.options)))
            case .matches where !text.isEmpty:
                prepared = .regularExpression(try compilePattern(text, self.options, isCached: true))
            default: prepared = .text(text)
            }
        }

        /// Returns the function's result for a first text.
        ///
        /// - Throws: `Status.predicate` if the match of a regular expression exceeds the work limit.
        package func result(_ text: UnsafeRawBufferPointer) throws -> Int64 {
            switch prepared {
            case .like(let pattern): return TextSearch.like(text, pattern, options: options) ? 1 : 0
            case .regularExpression(let expression):
                return try TextSearch.matches(text, expression, options: options) ? 1 : 0
            case .text(let other): return withExtendedLifetime(other) { result(text, other.utf8) }
            }
        }

        private func result(_ text: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int64 {
            let anchor: TextAnchor
            switch function {
            case .compare:
                let order = TextSearch.order(text, other, options: options)
                return Int64(order.signum())
            case .contains: anchor = .anywhere
            case .beginsWith: anchor = .start
            case .endsWith: anchor = .end
            case .like, .matches: return 0
            }
            return TextSearch.contains(text, other, options: options, anchor: anchor) ? 1 : 0
        }
    }
}

/// A collation of ORDER BY that compares as a sort descriptor does. The store registers it with its database.
package struct SortCollation: Sendable {
    package let name: String
    package let selector: SortDescriptor.Selector

    package static let all = [
        SortCollation(name: "CST_NOCASE", selector: .caseInsensitive),
        SortCollation(name: "CST_LOCALIZED", selector: .localized),
        SortCollation(name: "CST_LOCALIZED_NOCASE", selector: .localizedCaseInsensitive),
        SortCollation(name: "CST_STANDARD", selector: .localizedStandard),
    ]
}
