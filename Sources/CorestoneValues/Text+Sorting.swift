/// Returns names in the order of their UTF-8 bytes.
package func sortedByBytes(_ names: some Sequence<String>) -> [String] {
    names.map { Text($0) }.sorted().map(\.string)
}
