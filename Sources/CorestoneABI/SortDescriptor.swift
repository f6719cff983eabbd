import CCorestone
import CorestoneGraph
import CorestonePredicate
import CorestoneValues

/// The host's comparator for descriptors with `CST_SORT_COMPARATOR`, valid for one call.
private struct HostComparator: @unchecked Sendable {
    let compare: cst_compare_fn
    let userdata: UnsafeMutableRawPointer?

    func comparator(_ index: Int, _ path: String) -> SortComparator {
        SortComparator { a, b in
            try withBorrowedValues([a, b]) { cells in
                var order: Int32 = 0
                try callHost("the host's comparator", key: path) {
                    compare(userdata, index, cells, cells + 1, &order, $0)
                }
                return Int(order)
            }
        }
    }
}

/// The use of sort descriptors, for messages.
enum SortPurpose { case fetch, history, values }

/// Reads the sort descriptors of a host. Descriptors with `CST_SORT_COMPARATOR` use the comparator of the call.
func sortDescriptors(
    _ sort: UnsafePointer<cst_sort>?, _ count: Int, _ compare: cst_compare_fn?, _ userdata: UnsafeMutableRawPointer?,
    for purpose: SortPurpose
) throws -> [SortDescriptor] {
    let host = compare.map { HostComparator(compare: $0, userdata: userdata) }
    return try array(sort, count, "sort").enumerated().map { index, sort in
        let path = try sort.key_path.optionalString("key_path") ?? "self"
        let flags = Int(sort.flags)
        guard flags < 2 * CST_SORT_COMPARATOR, let selector = selector(flags) else {
            throw unsuitable(flags, path)
        }
        guard sort.reserved == 0 else {
            throw CoreError(
                .unsupported,
                "the field reserved of the sort descriptor by \"\(path)\" is \(sort.reserved), but must be 0",
                key: path, value: .int(Int64(sort.reserved)))
        }
        var comparator: SortComparator?
        if flags & CST_SORT_COMPARATOR != 0 {
            guard let host else {
                throw withoutComparator(path, for: purpose)
            }
            comparator = host.comparator(index, path)
        }
        let turns = path.utf8.first == UInt8(ascii: "-")
        return SortDescriptor(
            path: KeyPath(turns ? String(path.dropFirst()) : path),
            ascending: (flags & CST_SORT_DESCENDING == 0) != turns,
            selector: selector, comparator: comparator)
    }
}

private func unsuitable(_ flags: Int, _ path: String) -> CoreError {
    let found = "the flags of the sort descriptor by \"\(path)\" are 0x\(String(flags, radix: 16))"
    guard flags < 2 * CST_SORT_COMPARATOR else {
        return CoreError(
            .unsupported, "\(found), but must be 0 to 0x1f; use CST_SORT_ constants", key: path,
            value: .int(Int64(flags)))
    }
    return CoreError(
        .unsupported,
        "\(found), but CST_SORT_LOCALIZED_STANDARD cannot be combined with CST_SORT_CASE_INSENSITIVE or "
            + "CST_SORT_LOCALIZED",
        key: path, value: .int(Int64(flags)))
}

private func withoutComparator(_ path: String, for purpose: SortPurpose) -> CoreError {
    let descriptor = "sort descriptor by \"\(path)\""
    let message =
        switch purpose {
        case .fetch:
            "unsupported \(descriptor): stores cannot sort by a comparator; sort without it, and order fetched objects "
                + "with cst_results_copy_sorted (ordered)"
        case .history:
            "unsupported \(descriptor): the history cannot be sorted by a comparator; use the other CST_SORT_ "
                + "constants (selector)"
        case .values:
            "compare is NULL, but the \(descriptor) has CST_SORT_COMPARATOR; pass the function that compares two values"
        }
    return CoreError(.unsupported, message, key: path)
}

private func selector(_ flags: Int) -> SortDescriptor.Selector? {
    switch flags & (CST_SORT_CASE_INSENSITIVE | CST_SORT_LOCALIZED | CST_SORT_LOCALIZED_STANDARD) {
    case 0: .compare
    case CST_SORT_CASE_INSENSITIVE: .caseInsensitive
    case CST_SORT_LOCALIZED: .localized
    case CST_SORT_LOCALIZED | CST_SORT_CASE_INSENSITIVE: .localizedCaseInsensitive
    case CST_SORT_LOCALIZED_STANDARD: .localizedStandard
    default: nil
    }
}

@_cdecl("cst_sort_set_locale") @implementation
public func cst_sort_set_locale(_ locale: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) { Collation.use(locale: try locale.optionalString("locale")) }
}

@_cdecl("cst_sort_copy_locale") @implementation
public func cst_sort_copy_locale(
    _ out: UnsafeMutablePointer<cst_buffer>?, _ usesICU: UnsafeMutablePointer<Bool>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let collation = Collation.current
        try required(out, "out_text").fill(collation.locale)
        usesICU?.pointee = collation.usesICU
    }
}

@_cdecl("cst_sort_values") @implementation
public func cst_sort_values(
    _ count: Int, _ values: UnsafePointer<cst_value>?, _ sortCount: Int, _ sort: UnsafePointer<cst_sort>?,
    _ compare: cst_compare_fn?, _ userdata: UnsafeMutableRawPointer?, _ out: UnsafeMutablePointer<Int>?,
    _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let cells = try array(values, count, "values")
        let descriptors = try sortDescriptors(sort, sortCount, compare, userdata, for: .values)
        if cells.isEmpty { return }
        let out = try required(out, "out_order")
        var reader = ValueReader(of: "values")
        let order = try SortDescriptor.order(of: try cells.map { try reader.read($0) }, by: descriptors)
        for (place, index) in order.enumerated() { out[place] = index }
    }
}

@_cdecl("cst_results_copy_sorted") @implementation
public func cst_results_copy_sorted(
    _ pointer: OpaquePointer?, _ sortCount: Int, _ sort: UnsafePointer<cst_sort>?, _ compare: cst_compare_fn?,
    _ userdata: UnsafeMutableRawPointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try place(out, "out_results")
        let results = try objectsOnQueue(pointer)
        let descriptors = try sortDescriptors(sort, sortCount, compare, userdata, for: .values)
        var values: [PropertyValue] = []
        try results.forEachObject { values.append(try results.isMissing($1, row: $0) ? .null : .object($1)) }
        out.pointee = try results.choosing(try SortDescriptor.order(of: values, by: descriptors)).makeHandle()
    }
}
