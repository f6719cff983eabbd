import CorestoneModel

/// How values of an attribute are kept after a change of the attribute: expressions of SQL over the former column.
struct ValueConversion {
    let from: Attribute
    let to: Attribute

    /// The function that reads values out of files beside the store.
    static let inliningFunction = "cst_inlined"

    /// The value in the form of the new attribute.
    func expression(_ column: String) -> String {
        let storage = changedStorage(column)
        // Bytes and transformable values are the same bytes.
        if from.type == to.type || from.type.isBytes && to.type.isBytes { return storage }
        return "\(MigrationFunctions.conversion)(\(column), \(from.type.rawValue), \(to.type.rawValue))"
    }

    /// Values of attributes with external storage begin with a mark.
    private func changedStorage(_ column: String) -> String {
        guard from.type.isBytes, to.type.isBytes, from.allowsExternalStorage != to.allowsExternalStorage else {
            return column
        }
        return to.allowsExternalStorage
            ? "CASE WHEN \(column) IS NULL THEN NULL ELSE CAST(x'01' || \(column) AS BLOB) END"
            : "\(ValueConversion.inliningFunction)(\(column))"
    }
}
