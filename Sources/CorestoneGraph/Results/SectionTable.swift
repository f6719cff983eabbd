import CorestoneValues

/// The name of a section.
///
/// Names are compared bytewise. In Swift, the composed and the decomposed form of a text are equal strings, but other
/// names can be sorted between them.
struct SectionName: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    /// The name of the section of objects without a section name, and of an undivided list.
    static let none = SectionName("")

    static func == (a: SectionName, b: SectionName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// The sections of a list of rows: runs of rows with the same name.
struct SectionTable: Sendable {
    private(set) var names: [SectionName] = []
    /// The position at which each section begins, followed by the end of the last section.
    private(set) var starts = [0]

    init() {}

    /// Creates a single section for all rows, which exists even if it is empty.
    init(undivided count: Int) {
        names = [.none]
        starts = [0, count]
    }

    /// Creates the sections of rows.
    ///
    /// - Throws: Code 134060 with the object whose section is not contiguous.
    init(of rows: [ResultsRow]) throws {
        var known: Set<SectionName> = []
        for (place, row) in rows.enumerated() where place == 0 || row.section != names[names.count - 1] {
            guard known.insert(row.section).inserted else {
                throw outOfOrder(row, after: names[names.count - 1])
            }
            append(row.section, 0)
            starts[names.count - 1] = place
        }
        if !names.isEmpty { starts[names.count] = rows.count }
    }

    mutating func append(_ name: SectionName, _ count: Int) {
        names.append(name)
        starts.append(starts[starts.count - 1] + count)
    }

    var count: Int { names.count }

    func count(of section: Int) -> Int { starts[section + 1] - starts[section] }

    func section(of place: Int) -> Int { RowList.partition(names.count) { starts[$0 + 1] <= place } }

    func path(of place: Int) -> ResultsIndexPath {
        let section = section(of: place)
        return ResultsIndexPath(row: place - starts[section], section: section)
    }

    /// Returns the position at an index path; nil if the index path is out of range.
    func place(of path: ResultsIndexPath) -> Int? {
        guard names.indices.contains(path.section), path.row >= 0, path.row < count(of: path.section) else {
            return nil
        }
        return starts[path.section] + path.row
    }
}

/// Creates the error for an object whose section is not contiguous.
private func outOfOrder(_ row: ResultsRow, after name: SectionName) -> CoreError {
    CoreError(
        .invalidArgument, code: .coreData,
        "\(row.id.entity.name) \(row.id.uri) is in section \"\(row.section.text)\", but is sorted after section "
            + "\"\(name.text)\", apart from the other objects of its section; sort first by a key that keeps each "
            + "section together",
        entity: row.id.entity.name, value: .string(row.section.text), objectURI: row.id.uri)
}
