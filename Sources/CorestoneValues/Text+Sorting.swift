/// Returns names in the order of their UTF-8 bytes, the "case-sensitive name order" of the formats.
package func sortedByBytes(_ names: some Sequence<String>) -> [String] {
    names.map { Text($0) }.sorted().map(\.string)
}
