/// Rewriting of elements without extras after a change of the model. Their unknown content is kept.
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
    func says(_ other: SourceElement) -> Bool {
        name == other.name && attributes == other.attributes && text == other.text
            && elements.count == other.elements.count && zip(elements, other.elements).allSatisfy { $0.says($1) }
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
        let change = ElementChange(said: self, former: former, now: now)
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

/// The application of changes to the children of an element.
private struct ElementChange {
    let said: [SourceElement]
    let former: [SourceElement]
    let now: [SourceElement]
    /// The index in `former` for each index in `said`.
    ///
    /// `becomes` is the index in `now` for each index in `former`.
    private let readAs: [Int?]
    private let becomes: [Int?]

    init(said: [SourceElement], former: [SourceElement], now: [SourceElement]) {
        (self.said, self.former, self.now) = (said, former, now)
        readAs = said.counterparts(in: former)
        becomes = former.counterparts(in: now, afterRenaming: true)
    }

    /// The original elements that the model still contains, by index in the source.
    ///
    /// They keep their order, unless the order in the model changed.
    private var stayers: [Int: (said: Int, former: Int, now: Int)] {
        var all: [(said: Int, former: Int, now: Int)] = []
        for (place, read) in readAs.enumerated() {
            if let read, let new = becomes[read] { all.append((place, read, new)) }
        }
        let places = all.map(\.said)
        let read = all.sorted { $0.former < $1.former }
        if !zip(read, read.dropFirst()).allSatisfy({ $0.now < $1.now }) { all.sort { $0.now < $1.now } }
        return Dictionary(uniqueKeysWithValues: zip(places, all))
    }

    var result: [SourceElement] {
        let stayers = stayers
        let first = stayers.values.map(\.now).min() ?? -1
        let new = newElements(behind: Set(stayers.values.map(\.now)))
        let gone = Set(former.indices.filter { becomes[$0] == nil }.map { former[$0].identity })
        var result: [SourceElement] = []
        for place in said.indices {
            if let stayer = stayers[place] {
                if stayer.now == first { result += new[-1] ?? [] }
                result.append(said[stayer.said].changed(from: former[stayer.former], to: now[stayer.now]))
                result += new[stayer.now] ?? []
            } else if readAs[place] == nil, !gone.contains(said[place].identity) {
                // Unknown content is kept, except a duplicate of a removed element, which would take the element's
                // place.
                result.append(said[place])
            }
        }
        return first < 0 ? result + (new[-1] ?? []) : result
    }

    /// Returns the new elements, by the index of the element before them; -1 for the first ones.
    private func newElements(behind stayers: Set<Int>) -> [Int: [SourceElement]] {
        // Elements that the source omits, although the writer would have produced them, are not new if they are
        // unchanged.
        let silent = Set(former.indices.filter { place in becomes[place].map { former[place].says(now[$0]) } ?? false })
        let unsaid = Set(silent.compactMap { becomes[$0] })
        var new: [Int: [SourceElement]] = [:]
        var last = -1
        for place in now.indices {
            if stayers.contains(place) {
                last = place
            } else if !unsaid.contains(place) {
                new[last, default: []].append(now[place])
            }
        }
        return new
    }
}
