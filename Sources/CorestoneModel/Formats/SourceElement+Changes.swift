/// Rewriting of elements whose unknown content is kept with the whole element, such as user info and fetch indexes.
extension SourceElement {
    /// The key that distinguishes an element from its siblings.
    struct Identity: Hashable, Sendable {
        let kind: String
        let name: String?
    }

    var identity: Identity {
        let name: String? =
            switch name {
            case "entry": attributes["key"]
            case "constraint", "index": attributes["value"]
            case "fetchIndexElement": attributes["property"] ?? attributes["expression"] ?? ""
            case "uniquenessConstraint", "compoundIndex":
                elements.compactMap { $0.attributes["value"] }.joined(separator: ",")
            default: attributes["name"]
            }
        return Identity(kind: self.name, name: name)
    }

    /// Whether two elements are equal, regardless of their index.
    func hasSameContent(as other: SourceElement) -> Bool {
        name == other.name && attributes == other.attributes && text == other.text
            && elements.count == other.elements.count
            && zip(elements, other.elements).allSatisfy { $0.hasSameContent(as: $1) }
    }

    /// Returns the original element with the changes of the model.
    ///
    /// Unchanged parts and unknown content keep their spelling and order.
    ///
    /// - Parameters:
    ///   - former: the element that the writer would have produced for the model as it was read.
    ///   - now: the element that the writer produces for the current model.
    func changed(from former: SourceElement, to now: SourceElement) -> SourceElement {
        var element = self
        for name in Set(former.attributes.keys).union(now.attributes.keys)
        where former.attributes[name] != now.attributes[name] {
            element.attributes[name] = now.attributes[name]
        }
        element.elements = elements.changed(from: former.elements, to: now.elements)
        return element
    }
}

extension [SourceElement] {
    fileprivate func changed(from former: [SourceElement], to now: [SourceElement]) -> [SourceElement] {
        let change = ElementChange(original: self, former: former, now: now)
        var elements = change.result
        for place in elements.indices { elements[place].place = place }
        return elements
    }

    /// Returns the index of each element's counterpart in another list.
    ///
    /// The counterpart is the element with the same identity. With `afterRenaming`, an element of the same kind at the
    /// same index is a counterpart too, unless elements were removed.
    fileprivate func counterparts(in others: [SourceElement], afterRenaming: Bool = false) -> [Int?] {
        var waiting = Dictionary(grouping: others.indices.reversed()) { others[$0].identity }
        var found: [Int?] = map { waiting[$0.identity]?.popLast() }
        guard afterRenaming, count <= others.count else { return found }
        var taken = Set(found.compactMap { $0 })
        // A new key of user info is always a new entry.
        for place in indices where found[place] == nil && self[place].name != "entry" {
            if self[place].name == others[place].name, taken.insert(place).inserted { found[place] = place }
        }
        return found
    }
}

/// The children of an element, after changes of the model.
private struct ElementChange {
    let original: [SourceElement]
    let former: [SourceElement]
    let now: [SourceElement]
    /// The index in `former` for each index in `original`; nil without a counterpart.
    ///
    /// `becomes` is the index in `now` for each index in `former`.
    private let readAs: [Int?]
    private let becomes: [Int?]

    init(original: [SourceElement], former: [SourceElement], now: [SourceElement]) {
        (self.original, self.former, self.now) = (original, former, now)
        readAs = original.counterparts(in: former)
        becomes = former.counterparts(in: now, afterRenaming: true)
    }

    /// The original elements that the model still contains, by index in the source.
    ///
    /// They keep their order, unless the order in the model changed.
    private var retained: [Int: (original: Int, former: Int, now: Int)] {
        var all: [(original: Int, former: Int, now: Int)] = []
        for (place, read) in readAs.enumerated() {
            if let read, let new = becomes[read] { all.append((place, read, new)) }
        }
        let places = all.map(\.original)
        let read = all.sorted { $0.former < $1.former }
        if !zip(read, read.dropFirst()).allSatisfy({ $0.now < $1.now }) { all.sort { $0.now < $1.now } }
        return Dictionary(uniqueKeysWithValues: zip(places, all))
    }

    var result: [SourceElement] {
        let retained = retained
        let first = retained.values.map(\.now).min() ?? -1
        let new = newElements(behind: Set(retained.values.map(\.now)))
        let gone = Set(former.indices.filter { becomes[$0] == nil }.map { former[$0].identity })
        var result: [SourceElement] = []
        for place in original.indices {
            if let element = retained[place] {
                if element.now == first { result += new[-1] ?? [] }
                result.append(original[element.original].changed(from: former[element.former], to: now[element.now]))
                result += new[element.now] ?? []
            } else if readAs[place] == nil, !gone.contains(original[place].identity) {
                // Unknown content is kept, except a duplicate of a removed element, which would take the element's
                // place.
                result.append(original[place])
            }
        }
        return first < 0 ? result + (new[-1] ?? []) : result
    }

    /// Returns the new elements, by the index of the element before them; -1 for the first ones.
    private func newElements(behind retained: Set<Int>) -> [Int: [SourceElement]] {
        // Elements that the source omits, although the writer would have produced them, are not new if they are
        // unchanged.
        let omittedAndUnchanged = Set(
            former.indices.filter { place in becomes[place].map { former[place].hasSameContent(as: now[$0]) } ?? false }
        )
        let omitted = Set(omittedAndUnchanged.compactMap { becomes[$0] })
        var new: [Int: [SourceElement]] = [:]
        var last = -1
        for place in now.indices {
            if retained.contains(place) {
                last = place
            } else if !omitted.contains(place) {
                new[last, default: []].append(now[place])
            }
        }
        return new
    }
}
