import Corestone

/// A table of text. If the width is limited, the widest columns are narrowed first, and truncated cells end in "…".
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
    /// The widths of the visible columns.
    private let widths: [Int]
    /// Whether cells are truncated to the width of their column.
    private let isNarrow: Bool

    private static let gap = 2
    /// The minimum width of a narrowed column.
    private static let least = 10
    /// The maximum padding if the width is not limited. Without a maximum, one long value would lengthen every line.
    private static let maximumPadded = 60

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - sample: Rows that determine the widths of the columns; later rows may be wider.
    ///   - width: The width of the terminal; nil if the width is not limited. In the latter case, cells are not
    ///     truncated, but long values break the alignment of their line.
    init(_ columns: [Column], sample: [[String]], width: Int?) {
        let natural = columns.indices.map { place in
            sample.reduce(DisplayWidth.of(columns[place].title)) { max($0, DisplayWidth.of($1[place].visible())) }
        }
        widths = width.map { Table.fitted(natural, into: $0) } ?? natural.map { min($0, Table.maximumPadded) }
        self.columns = Array(columns.prefix(widths.count))
        isNarrow = width != nil
    }

    /// Returns the number of columns that do not fit.
    func hiddenCount(of count: Int) -> Int { count - columns.count }

    /// Narrows the widest columns step by step, then removes the last ones.
    private static func fitted(_ natural: [Int], into width: Int) -> [Int] {
        var widths = natural
        func total() -> Int { widths.reduce(0, +) + gap * max(widths.count - 1, 0) }
        while total() > width {
            if let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > least {
                // The width is reduced in steps down to the next narrower column.
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

    /// Returns one row, without a line end.
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
