/// Elements of which a model keeps values alone, rewritten after a change with all that they said beside.
extension SourceElement {
    /// What tells an element from those beside it.
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

    /// Whether two elements say the same, wherever they stand.
    func says(_ other: SourceElement) -> Bool {
        name == other.name && attributes == other.attributes && text == other.text
            && elements.count == other.elements.count && zip(elements, other.elements).allSatisfy { $0.says($1) }
    }

    /// The element as the source said it, with what has changed in the model since: the rest keeps its words and its place,
    /// and so does what means nothing to a model.
    ///
    /// - Parameters:
    ///   - former: what we would have written for the model as it was read.
    ///   - now: what we write for it as it is.
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

    /// For each element, where its counterpart stands in another list: what is called the same or, when it may be called
    /// otherwise by now, what stands at the same place while nothing has gone.
    fileprivate func counterparts(in others: [SourceElement], afterRenaming: Bool = false) -> [Int?] {
        var waiting = Dictionary(grouping: others.indices.reversed()) { others[$0].identity }
        var found: [Int?] = map { waiting[$0.identity]?.popLast() }
        guard afterRenaming, count <= others.count else { return found }
        var taken = Set(found.compactMap { $0 })
        // Keys of user info have no other names: a new one is another entry.
        for place in indices where found[place] == nil && self[place].name != "entry" {
            if self[place].name == others[place].name, taken.insert(place).inserted { found[place] = place }
        }
        return found
    }
}

/// What becomes of the elements within one.
private struct ElementChange {
    let said: [SourceElement]
    let former: [SourceElement]
    let now: [SourceElement]
    /// By place in `said`, where that stands in `former`; by place in `former`, where that stands in `now`.
    private let readAs: [Int?]
    private let becomes: [Int?]

    init(said: [SourceElement], former: [SourceElement], now: [SourceElement]) {
        (self.said, self.former, self.now) = (said, former, now)
        readAs = said.counterparts(in: former)
        becomes = former.counterparts(in: now, afterRenaming: true)
    }

    /// What the source said and the model still has, by its places in the source: where it was, unless the model has another
    /// order by now.
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
                // Nobody read it; but for a second one of what has gone, which would come to count.
                result.append(said[place])
            }
        }
        return first < 0 ? result + (new[-1] ?? []) : result
    }

    /// What the source did not say, by what it follows in the model, -1 for nothing.
    private func newElements(behind stayers: Set<Int>) -> [Int: [SourceElement]] {
        // What we would have written before, and the source did not say, says nothing new.
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
