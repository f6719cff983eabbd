/// Returns the candidate that is most similar to a misspelt name; nil if no candidate is similar.
///
/// Names that differ only in case qualify. Another candidate qualifies if it differs by one edit, or by at most one
/// edit per three letters of the longer name. Names of one letter each that differ in more than case do not qualify.
/// An edit adds, omits or replaces a letter, or exchanges two adjacent letters. Edits are counted in the first 200
/// letters of both names. Of equally similar names, the first by code points is returned.
public func nearestName(to name: String, among names: [String]) -> String? {
    let wanted = Array(name.unicodeScalars.prefix(200))
    let folded = name.lowercased()
    var best: (distance: Int, name: String)?
    for candidate in names {
        let scalars = Array(candidate.unicodeScalars.prefix(200))
        let limit = max(1, max(wanted.count, scalars.count) / 3)
        guard abs(wanted.count - scalars.count) <= limit else { continue }
        let distance: Int
        if candidate.lowercased() == folded {
            distance = 0
        } else {
            distance = slips(wanted, scalars)
            guard distance <= limit, distance < max(wanted.count, scalars.count) else { continue }
        }
        if let best, (best.distance, best.name) <= (distance, candidate) { continue }
        best = (distance, candidate)
    }
    return best?.name
}

/// Returns the optimal string alignment distance.
///
/// It is the Damerau-Levenshtein distance without further edits of exchanged letters.
private func slips(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in 0..<a.count {
        var row = [i + 1]
        row.reserveCapacity(b.count + 1)
        for j in 0..<b.count {
            var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, beforeLast[j - 1] + 1) }
            row.append(least)
        }
        (beforeLast, last) = (last, row)
    }
    return last[b.count]
}
