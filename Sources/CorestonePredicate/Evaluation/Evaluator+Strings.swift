import CorestoneValues

extension Evaluator {
    /// Compares two texts; returns nil for operators that do not compare texts.
    ///
    /// Without options, texts are ordered by their bytes, as in SQLite, and CONTAINS, BEGINSWITH and ENDSWITH treat
    /// composed and decomposed spellings as equal. The options `c` and `d` fold both sides. With `l`, texts are ordered
    /// by the rules of the locale.
    func compareTexts(_ left: UnsafeRawBufferPointer, _ right: Text, _ comparison: Comparison) throws -> Bool? {
        let options = comparison.options
        switch comparison.operator {
        case .equal: return TextSearch.order(left, right.utf8, options: options) == 0
        case .notEqual: return TextSearch.order(left, right.utf8, options: options) != 0
        case .less: return TextSearch.order(left, right.utf8, options: options) < 0
        case .lessOrEqual: return TextSearch.order(left, right.utf8, options: options) <= 0
        case .greater: return TextSearch.order(left, right.utf8, options: options) > 0
        case .greaterOrEqual: return TextSearch.order(left, right.utf8, options: options) >= 0
        case .utiEquals: return compareFolded(left, right.utf8, caseInsensitive: true, diacriticInsensitive: false) == 0
        case .utiConformsTo:
            return UniformType.conforms(String(decoding: left, as: UTF8.self), to: right.string)
        case .tokenMatches: return TokenSearch.matches(left, right.utf8, options: options)
        case .beginsWith: return contains(left, right, comparison, .start)
        case .endsWith: return contains(left, right, comparison, .end)
        case .contains: return contains(left, right, comparison, .anywhere)
        case .in:
            return TextSearch.contains(right.utf8, left, options: options, anchor: .anywhere)
        case .like:
            if case .like(let pattern) = comparison.prepared { return TextSearch.like(left, pattern, options: options) }
            return TextSearch.like(left, LikePattern(folding(right, options)), options: options)
        case .matches:
            if right.isEmpty { return false }
            if case .regularExpression(let result) = comparison.prepared {
                return try TextSearch.matches(left, try result.get(), options: options)
            }
            return try TextSearch.matches(left, try compilePattern(right, options, isCached: true), options: options)
        case .between, .custom: return nil
        }
    }

    private func contains(
        _ text: UnsafeRawBufferPointer, _ part: Text, _ comparison: Comparison, _ anchor: TextAnchor
    ) -> Bool {
        if case .folded(let folded) = comparison.prepared {
            return containsFolded(
                text, folded: folded.utf8, caseInsensitive: comparison.options.foldsCase,
                diacriticInsensitive: comparison.options.foldsDiacritics, anchor: anchor)
        }
        return TextSearch.contains(text, part.utf8, options: comparison.options, anchor: anchor)
    }
}
