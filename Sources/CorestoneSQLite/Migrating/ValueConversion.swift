import CorestoneModel

/// The conversion of values after a change of an attribute, as SQL expressions over the former column.
struct ValueConversion {
    let from: Attribute
    let to: Attribute

    /// The SQL function that reads values from backing files.
    static let inliningFunction = "cst_inlined"

    /// Returns the expression for the value of the new attribute.
    func expression(_ column: String) -> String {
        let storage = changedStorage(column)
        // Binary data and transformable values are stored in the same form.
        if from.type == to.type || from.type.isBytes && to.type.isBytes { return storage }
        return "\(MigrationFunctions.conversion)(\(column), \(from.type.rawValue), \(to.type.rawValue))"
    }

    /// Returns the expression for a change of external storage: with external storage, stored values begin with a mark.
    private func changedStorage(_ column: String) -> String {
        guard from.type.isBytes, to.type.isBytes, from.allowsExternalStorage != to.allowsExternalStorage else {
            return column
        }
        return to.allowsExternalStorage
            ? "CASE WHEN \(column) IS NULL THEN NULL ELSE CAST(x'01' || \(column) AS BLOB) END"
            : "\(ValueConversion.inliningFunction)(\(column))"
    }
}
