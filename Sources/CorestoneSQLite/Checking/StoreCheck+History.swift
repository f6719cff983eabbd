import CorestoneModel

extension StoreCheck {
    /// Checks the changes, the names and the highest assigned primary keys of the history.
    ///
    /// Every change must have a known kind, an entity of the store and an existing transaction. Every name to which a
    /// transaction refers must exist.
    mutating func checkHistory() throws {
        let design: HistorySchema?
        do { design = try HistorySchema(of: connection) } catch let refusal as HistoryRefusal {
            findings.add(.history, "cannot check the history of the store: \(refusal.reason)")
            return
        }
        guard let design else { return }
        findings.addExamined(try count("SELECT count(*) FROM ACHANGE"), "changes in the history")
        try checkChanges(design)
        try checkNames(design)
        for table in HistorySchema.Table.allCases where try connection.hasTable(table.rawValue, purpose) {
            try checkHighestKey(of: table.rawValue, number: table.number, entity: nil)
        }
    }

    private mutating func checkChanges(_ design: HistorySchema) throws {
        try report(
            .history,
            "SELECT c.Z_PK, c.ZTRANSACTIONID FROM ACHANGE c LEFT JOIN ATRANSACTION t ON t.Z_PK = c.ZTRANSACTIONID "
                + "WHERE t.Z_PK IS NULL"
        ) { row in
            let fault =
                row.isNull(1)
                ? "does not have a transaction" : "belongs to transaction \(row.integer(1)), which does not exist"
            return ("change \(row.integer(0)) of the history \(fault)", nil)
        }
        try report(
            .history,
            "SELECT c.Z_PK, c.ZENTITY, c.ZENTITYPK IS NULL FROM ACHANGE c WHERE c.ZENTITY NOT IN (SELECT Z_ENT FROM Z_PRIMARYKEY) "
                + "OR c.ZENTITY IS NULL OR c.ZENTITYPK IS NULL"
        ) { row in
            let isKeyed = row.integer(2) == 0
            let article = isKeyed ? "the unknown" : "the"
            let number =
                row.isNull(1) ? "does not have an entity number" : "has \(article) entity number \(row.integer(1))"
            let fault = isKeyed ? number : "does not have the primary key of its object and \(number)"
            return ("change \(row.integer(0)) of the history \(fault)", nil)
        }
        try report(
            .history, "SELECT Z_PK, ZCHANGETYPE FROM ACHANGE WHERE ZCHANGETYPE IS NULL OR ZCHANGETYPE NOT IN (0, 1, 2)"
        ) { row in
            let kind = row.isNull(1) ? "does not have a kind" : "has the unknown kind \(row.integer(1))"
            return ("change \(row.integer(0)) of the history \(kind)", nil)
        }
        guard design.hasColumns else { return }
        try report(
            .history, "SELECT Z_PK, ZCHANGETYPE FROM ACHANGE WHERE (ZCHANGETYPE = 1) <> (ZCOLUMNS IS NOT NULL)"
        ) { row in
            let fault =
                row.integer(1) == 1
                ? "is an update without changed columns" : "lists changed columns but is not an update"
            return ("change \(row.integer(0)) of the history \(fault)", nil)
        }
    }

    private mutating func checkNames(_ design: HistorySchema) throws {
        for label in HistorySchema.Label.allCases {
            guard let (column, isReference) = design.labels[label], isReference else { continue }
            try report(
                .history,
                "SELECT t.Z_PK, t.\(column) FROM ATRANSACTION t LEFT JOIN ATRANSACTIONSTRING s ON s.Z_PK = t.\(column) "
                    + "WHERE t.\(column) IS NOT NULL AND s.Z_PK IS NULL"
            ) { row in
                (
                    "transaction \(row.integer(0)) of the history refers to name \(row.integer(1)) (\(column)), "
                        + "which does not exist", nil
                )
            }
        }
    }
}
