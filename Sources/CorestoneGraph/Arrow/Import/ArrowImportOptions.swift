/// The options of an Arrow import.
public struct ArrowImportOptions {
    /// The properties of columns whose names are not those of properties, by column; nil ignores a column.
    ///
    /// A property is an attribute, an element of a composite attribute (`address.city`), a relationship, whose values
    /// are URIs of objects, or a key of a relationship (`department.name`), by which its targets are found.
    public var columns: [String: String?] = [:]
    /// The attributes by which an upsert finds existing objects, or `objectID`.
    ///
    /// If empty, the first unique constraint whose attributes are all imported.
    public var keys: [String] = []
    /// Whether columns that are neither properties nor in `columns` are ignored instead of rejected.
    public var ignoresUnknownColumns = false
    /// Whether a relationship is null, or leaves out a member, if no object has the key.
    ///
    /// Otherwise such a row is rejected.
    public var ignoresMissingTargets = false
    /// Whether timestamps without a time zone are in UTC. Otherwise they are rejected.
    public var treatsNaiveTimestampsAsUTC = false
    /// Whether the objects are validated, so that an error names the row. A save validates them regardless.
    ///
    /// Without effect for batch requests.
    public var validates = false
    /// Called with the number of imported rows, every few thousand rows and at the end.
    ///
    /// Returns false to cancel the import. `isEnd` is true for the last call, after which all rows are imported.
    public var progress: ((_ rows: Int, _ isEnd: Bool) -> Bool)?

    public init() {}
}

/// The result of an Arrow import into a context.
public struct ArrowImportResult: Equatable, Sendable {
    /// The number of rows that inserted an object.
    public let inserted: Int
    /// The number of rows that set values of an existing object, including one that an earlier row inserted.
    public let updated: Int
}
