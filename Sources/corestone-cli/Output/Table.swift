import Corestone

/// Text in columns. Where the width is limited, the widest columns give way first, and what does not fit ends in "…".
struct Table {
    enum Alignment { case left, right }

    struct Column {
        let title: String
        let alignment: Alignment

        init(_ title: String, _ alignment: Alignment = .left) {
            self.title = title
            self.alignment = alignment
        }
    }

    private let columns: [Column]
    /// Of each column that is shown.
    private let widths: [Int]
    /// Whether cells are cut to their column's width.
    private let isNarrow: Bool

    private static let gap = 2
    /// No column is narrower, unless its contents are.
    private static let least = 10
    /// No column of a table of any width is padded to more: one large value would make every line as long.
    private static let mostPadded = 60

    /// - Parameters:
    ///   - sample: rows from which the columns get their widths; later rows may be wider.
    ///   - width: columns of the terminal; nil for any: nothing is cut then, but longer values break the alignment of
    ///     their line.
    init(_ columns: [Column], sample: [[String]], width: Int?) {
        let natural = columns.indices.map { place in
            sample.reduce(DisplayWidth.of(columns[place].title)) { max($0, DisplayWidth.of($1[place].visible())) }
        }
        widths = width.map { Table.fitted(natural, into: $0) } ?? natural.map { min($0, Table.mostPadded) }
        self.columns = Array(columns.prefix(widths.count))
        isNarrow = width != nil
    }

    /// How many columns found no room at all.
    func hiddenCount(of count: Int) -> Int { count - columns.count }

    /// Takes from the widest columns, one after the other, then leaves out the last ones.
    private static func fitted(_ natural: [Int], into width: Int) -> [Int] {
        var widths = natural
        func total() -> Int { widths.reduce(0, +) + gap * max(widths.count - 1, 0) }
        while total() > width {
            if let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > least {
                // Down to the next narrower one at a time.
                let next = widths.filter { $0 < widths[widest] }.max() ?? least
                let atMost = widths[widest] - (total() - width)
                widths[widest] = max(least, min(widths[widest] - 1, max(next, atMost)))
            } else if widths.count > 1 {
                widths.removeLast()
            } else {
                return [max(width, 1)]
            }
        }
        return widths
    }

    var head: String { line(columns.map(\.title)) }

    /// One row, without the end of the line.
    func line(_ cells: [String]) -> String {
        var line = ""
        for (place, column) in columns.enumerated() {
            let isLast = place == columns.count - 1
            let text = cells[place].visible()
            let cell = isNarrow ? DisplayWidth.cut(text, to: widths[place]) : text
            let pad = String(repeating: " ", count: max(0, widths[place] - DisplayWidth.of(cell)))
            line += column.alignment == .right ? pad + cell : isLast ? cell : cell + pad
            if !isLast { line += String(repeating: " ", count: Table.gap) }
        }
        return String(line[..<(line.lastIndex { $0 != " " }.map { line.index(after: $0) } ?? line.startIndex)])
    }
}
