import Corestone

/// A printer of changes of objects with their values in one of the formats.
///
/// It prints the changes of one object, or the differences between two positions of a history.
struct RevisionPrinter {
    enum Subject { case object, difference }

    private let subject: Subject
    private let format: Format
    private let isGuarded: Bool

    /// The number of changes that determine the widths of the table.
    private static let sample = 200
    private static let unknown = "unknown"

    init(_ subject: Subject, _ format: Format, isGuarded: Bool) {
        (self.subject, self.format, self.isGuarded) = (subject, format, isGuarded)
    }

    func print(_ revisions: [ObjectRevision], to output: Output) throws {
        switch format {
        case .table: try printTable(revisions, to: output)
        case .json:
            for (place, revision) in revisions.enumerated() {
                try output.data("\(place == 0 ? "[" : ",")\n  \(json(revision).line)")
            }
            try output.data(revisions.isEmpty ? "[]\n" : "\n]\n")
        case .csv:
            try output.data(CSV.line(header + ["kind", "object", "property", "old", "new", "unknown"]))
            for revision in revisions {
                for fields in fields(revision) { try output.data(CSV.line(fields)) }
            }
        }
    }

    // MARK: - Values

    private enum Side {
        /// The object did not exist, or the change does not contain values of this property.
        case absent
        case unknown
        case value(PropertyValue)
    }

    /// Returns the value before and after a change.
    private func sides(_ value: ObjectRevision.Value, _ revision: ObjectRevision) -> (old: Side, new: Side) {
        func side(_ known: PropertyValue?, hasObject: Bool) -> Side {
            if let known { return .value(known) }
            return hasObject && hasValues(value.key, revision) ? .unknown : .absent
        }
        return (
            side(value.old, hasObject: revision.kind != .insert), side(value.new, hasObject: revision.kind != .delete)
        )
    }

    /// Whether a change contains values of a property.
    ///
    /// The changes of one object do not contain values of composite attributes, derived attributes and to-many
    /// relationships.
    private func hasValues(_ key: String, _ revision: ObjectRevision) -> Bool {
        guard subject == .object else { return true }
        switch revision.objectID.entity.property(named: key) {
        case let attribute as Attribute: return attribute.type != .composite && attribute.derivation == nil
        case let relationship as Relationship: return !relationship.isToMany
        default: return true
        }
    }

    private func members(_ value: PropertyValue) -> [ObjectID]? {
        guard case .array(let items) = value else { return nil }
        let ids = items.compactMap { ObjectID.from($0) }
        return ids.count == items.count ? ids : nil
    }

    // MARK: - Table

    private var columns: [Table.Column] {
        let head: [Table.Column] =
            subject == .object
            ? [Table.Column("transaction", .right), Table.Column("time"), Table.Column("author")]
            : [Table.Column("object")]
        return head + [Table.Column("change"), Table.Column("property"), Table.Column("old"), Table.Column("new")]
    }

    private func printTable(_ revisions: [ObjectRevision], to output: Output) throws {
        let table = Table(
            columns, sample: revisions.prefix(RevisionPrinter.sample).flatMap(lines), width: output.width)
        try output.line(bold: table.head)
        for revision in revisions {
            for line in lines(revision) { try output.line(table.line(line), isWhole: true) }
        }
        guard output.isTerminal else { return }
        try output.line(plural(revisions.count, subject == .object ? "change" : "different object"))
    }

    /// Returns a line for each property.
    ///
    /// Null values and empty relationships of inserted and deleted objects are left out.
    private func lines(_ revision: ObjectRevision) -> [[String]] {
        var head = [revision.objectID.shortText]
        if let transaction = revision.transaction, subject == .object {
            head = [String(transaction.number), transaction.time, transaction.author ?? ""]
        }
        let values = revision.values.filter { value in
            revision.kind == .update || [value.old, value.new].contains { $0.map { !isEmpty($0) } ?? false }
        }
        if values.isEmpty { return [head + [revision.kind.name, "", "", ""]] }
        return values.map { value in
            let (old, new) = sides(value, revision)
            // Neither value is known. The change only shows that the property changed.
            if case (.absent, .absent) = (old, new) { return head + [revision.kind.name, value.key, "-", "-"] }
            return head + [revision.kind.name, value.key, cell(old), cell(new)]
        }
    }

    private func isEmpty(_ value: PropertyValue) -> Bool { value.isNull || members(value)?.isEmpty == true }

    /// The number of members that are listed; more members are only counted.
    private static let shownMembers = 10

    /// Returns the short form of a value in a table.
    private func cell(_ side: Side) -> String {
        switch side {
        case .absent: return ""
        case .unknown: return RevisionPrinter.unknown
        case .value(.bytes(let bytes)): return plural(bytes.count, "byte")
        case .value(let value):
            if let target = ObjectID.from(value) { return target.shortText }
            guard let members = members(value) else { return DumpValue.text(value) ?? "" }
            return members.count > RevisionPrinter.shownMembers
                ? plural(members.count, "object") : members.map(\.shortText).joined(separator: " ")
        }
    }

    // MARK: - JSON

    private func json(_ revision: ObjectRevision) -> JSON {
        let members =
            (revision.transaction?.members ?? []) + [
                ("kind", .string(revision.kind.name)), ("entity", .string(revision.objectID.entity.name)),
                ("object", .string(revision.objectID.uri)),
                ("values", .array(revision.values.map { json($0, revision) })),
            ]
        return .object(members)
    }

    /// Returns the known values, and the names of the unknown ones.
    private func json(_ value: ObjectRevision.Value, _ revision: ObjectRevision) -> JSON {
        let (old, new) = sides(value, revision)
        var members: [(String, JSON)] = [("property", .string(value.key))]
        if case .value(let value) = old { members.append(("old", json(value))) }
        if case .value(let value) = new { members.append(("new", json(value))) }
        members.append(("unknown", .array(RevisionPrinter.unknown(old, new).map { .string($0) })))
        return .object(members)
    }

    private func json(_ value: PropertyValue) -> JSON {
        if let target = ObjectID.from(value) { return .string(target.uri) }
        return members(value).map { .array($0.map { .string($0.uri) }) } ?? DumpValue.json(value)
    }

    private static func unknown(_ old: Side, _ new: Side) -> [String] {
        [("old", old), ("new", new)].compactMap { name, side in if case .unknown = side { name } else { nil } }
    }

    // MARK: - CSV

    private var header: [String] {
        subject == .object ? HistoryTransaction.header : []
    }

    private func fields(_ revision: ObjectRevision) -> [[String?]] {
        func guarded(_ text: String?) -> String? { text.map { isGuarded ? Formula.guarded($0) : $0 } }
        let head = (revision.transaction?.csvFields ?? []).map(guarded) + [revision.kind.name, revision.objectID.uri]
        if revision.values.isEmpty { return [head + [nil, nil, nil, nil]] }
        return revision.values.map { value in
            let (old, new) = sides(value, revision)
            func text(_ side: Side) -> String? {
                guard case .value(let value) = side else { return nil }
                let text = field(value)
                return FieldValue.value(value).isText ? guarded(text) : text
            }
            let unknown = RevisionPrinter.unknown(old, new)
            return head + [value.key, text(old), text(new), unknown.isEmpty ? nil : unknown.joined(separator: " ")]
        }
    }

    private func field(_ value: PropertyValue) -> String? {
        if let target = ObjectID.from(value) { return target.uri }
        return members(value).map { $0.map(\.uri).joined(separator: " ") } ?? DumpValue.text(value)
    }
}
