import CorestonePredicate
import CorestoneValues

extension ResultsTracker {
    /// Verifies, in debug builds:
    /// - Each row of the snapshot is the row of its member, and there are no other members.
    /// - `unsaved` contains only members with temporary IDs.
    /// - The sections contain all rows.
    /// - Each row precedes the next one by the sort keys and the tie-breaker.
    ///
    /// Called after a fetch, and after a change was applied. Only results of at most 256 rows are checked.
    ///
    /// The order is checked only if it cannot depend on anything but the rows; see `hasFixedOrder`. Rows stay where
    /// they are when other rows are removed. Results that once did not have a fixed order are therefore not checked
    /// again before the next fetch.
    func checkInvariants() {
        #if DEBUG
            guard let snapshot else { return }
            guard snapshot.count <= 256 else {
                isOrderChecked = false
                return
            }
            let rows = snapshot.rows.all
            precondition(
                members.count == snapshot.count,
                "a results tracker has \(members.count) members for \(snapshot.count) rows")
            for row in rows {
                precondition(members[row.id]?.row === row, "a row of the results is not that of its member")
            }
            precondition(unsaved.values.allSatisfy(\.isTemporary), "an ID of an unsaved member is permanent")
            if let end = snapshot.sections.starts.last, naming != nil {
                precondition(end == snapshot.count, "the sections of the results do not contain all rows")
            }
            if !hasFixedOrder(rows) { isOrderChecked = false }
            guard isOrderChecked else { return }
            for (row, next) in zip(rows, rows.dropFirst()) {
                precondition((try? sorts.precedes(row, next)) == true, "the rows of the results are out of order")
            }
        #endif
    }

    #if DEBUG
        /// Whether the order of rows is total and never changes.
        ///
        /// This is false with:
        /// - a comparator of the application, or values that are objects, which the application compares
        /// - rules of the current locale, which the application can replace
        /// - values of different types, or NaN, whose comparison is not transitive
        /// - a limit or an offset, because rows outside the results may have had such values
        private func hasFixedOrder(_ rows: [ResultsRow]) -> Bool {
            guard request.limit == 0, request.offset == 0 else { return false }
            return sorts.enumerated().allSatisfy { column, sort in
                guard sort.comparator == nil, sort.selector == .compare || sort.selector == .caseInsensitive else {
                    return false
                }
                let values = rows.lazy.map { $0.keys[column] }.filter { !$0.isNull }
                guard let kind = values.first.map(kindInOrder) else { return true }
                return kind != nil && values.allSatisfy { kindInOrder($0) == kind }
            }
        }

        /// Returns a number for the type of a value that has a place among all values of its type; otherwise nil.
        private func kindInOrder(_ value: PropertyValue) -> Int? {
            switch value {
            case .bool: 1
            case .int: 2
            case .double(let number): number.isNaN ? nil : 3
            case .decimal: 4
            case .text: 5
            case .uri: 6
            case .date(let seconds): seconds.isNaN ? nil : 7
            case .bytes: 8
            case .uuid: 9
            case .null, .object, .array, .set, .dictionary: nil
            }
        }
    #endif
}
