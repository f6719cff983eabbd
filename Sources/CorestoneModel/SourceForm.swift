/// How a source model said what a `Model` also knows, where it could have said it in other words: a rewrite repeats them,
/// so that it differs only in what was changed.
struct SourceForm: Hashable, Sendable {
    /// An attribute as it was spelt.
    struct Spelling: Hashable, Sendable {
        let text: String
        /// What we would have written for the model as it was read: as long as we still would, the text stands.
        let instead: String?
    }

    /// Where the element stood within the one around it; nil for what came into being elsewhere.
    var place: Int?
    /// Of the model itself: whether the file ended its last line, as Xcode does not.
    var endsLine = false
    var spellings: [String: Spelling] = [:]
    /// Elements without extras of their own as they were spelt, when we would have written others.
    var elements: [SourceElement] = []
    /// By kind and name, what we would have written instead of elements here and among the extras.
    var instead: [SourceElement.Identity: [SourceElement]] = [:]

    init(place: Int? = nil) { self.place = place }
}

extension SourceForm {
    /// Notes the attributes that we would have spelt otherwise.
    mutating func note(_ said: [String: String], _ extras: SourceExtras, instead written: [String: String]) {
        for (name, text) in said {
            let instead = written[name]
            if instead == text || (instead == nil && extras.attributes[name] != nil) { continue }
            spellings[name] = Spelling(text: text, instead: instead)
        }
    }

    /// Notes the elements that we would have written otherwise, or elsewhere. Both lists have no properties and entities.
    mutating func note(_ said: [SourceElement], _ extras: SourceExtras, instead written: [SourceElement]) {
        let saidGroups = Dictionary(grouping: said, by: \.identity)
        let writtenGroups = Dictionary(grouping: written, by: \.identity)
        let isInOrder = zip(said, said.dropFirst()).allSatisfy { $0.rank <= $1.rank }
        let extra = Set(extras.elements.map(\.place))
        for (identity, group) in saidGroups {
            let instead = writtenGroups[identity] ?? []
            if isInOrder, group.count == instead.count, zip(group, instead).allSatisfy({ $0.says($1) }) { continue }
            elements += group.filter { !extra.contains($0.place) && !instead.isEmpty }
            if !instead.isEmpty { self.instead[identity] = instead }
        }
    }

    /// The attributes of an element: what we write for the model as it is, in the words of the source where they still hold.
    func attributes(_ written: [String: String], _ extras: SourceExtras) -> [String: String] {
        var attributes = written
        for (name, spelling) in spellings where spelling.instead == written[name] { attributes[name] = spelling.text }
        for (name, text) in extras.attributes where attributes[name] == nil { attributes[name] = text }
        return attributes
    }

    /// The elements within an element that are no properties and no entities, with their places where they have one.
    func elements(_ written: [SourceElement], _ extras: SourceExtras) -> [SourceItem] {
        let said = Dictionary(grouping: elements + extras.elements, by: \.identity)
        var items: [SourceItem] = []
        var done: Set<SourceElement.Identity> = []
        let writtenGroups = Dictionary(grouping: written, by: \.identity)
        for identity in (written + elements + extras.elements).map(\.identity) where done.insert(identity).inserted {
            let now = writtenGroups[identity] ?? []
            let kept = (said[identity] ?? []).sorted { $0.place < $1.place }
            let before = instead[identity] ?? []
            if kept.isEmpty {
                items += now.map { SourceItem($0) }
            } else if now.count == before.count, zip(now, before).allSatisfy({ $0.says($1) }) {
                items += kept.map { SourceItem($0, place: $0.place) }
            } else if kept.count == now.count, before.isEmpty || before.count == now.count {
                for place in now.indices {
                    let former = before.isEmpty ? SourceElement(name: identity.kind) : before[place]
                    let element = kept[place].changed(from: former, to: now[place])
                    items.append(SourceItem(element, place: kept[place].place))
                }
            } else {
                items += now.map { SourceItem($0, place: kept[0].place) }
            }
        }
        return items
    }
}

/// An element that is about to be written, and where it stood when it was read.
struct SourceItem {
    var element: SourceElement
    var place: Int?
    /// Whether its kind is kept in the order of names, as Xcode keeps it.
    var isSorted = false

    init(_ element: SourceElement, place: Int? = nil, isSorted: Bool = false) {
        self.element = element
        self.place = place
        self.isSorted = isSorted
    }
}

extension [SourceItem] {
    /// The elements in the order of their places; what has none stands with its kind: between the names around it when
    /// those are sorted, else behind them.
    var ordered: [SourceElement] {
        typealias Key = (place: Int, side: Int, rank: Int, sequence: Int)
        var greatest: [Int: Int] = [:]
        for item in self {
            if let place = item.place {
                greatest[item.element.rank] = Swift.max(greatest[item.element.rank] ?? 0, place)
            }
        }
        var keyed: [(key: Key, element: SourceElement)] = []
        for (_, kind) in Dictionary(grouping: self, by: \.element.name) {
            let placed = kind.filter { $0.place != nil }.sorted { ($0.place ?? 0) < ($1.place ?? 0) }
            for (sequence, item) in placed.enumerated() {
                keyed.append(((item.place ?? 0, 0, item.element.rank, sequence), item.element))
            }
            var new = kind.filter { $0.place == nil }
            guard let rank = new.first?.element.rank else { continue }
            if new[0].isSorted { new.sort { $0.element.sortName < $1.element.sortName } }
            let inOrder = new[0].isSorted && placed.isSortedByName
            // Behind its kind, or behind all kinds that stand before it.
            let end = placed.last?.place ?? greatest.filter { $0.key <= rank }.values.max() ?? -1
            var next = 0
            for (sequence, item) in new.enumerated() {
                while inOrder, next < placed.count, placed[next].element.sortName <= item.element.sortName { next += 1 }
                let isBetween = inOrder && next < placed.count
                let place = isBetween ? placed[next].place ?? 0 : end
                keyed.append(((place, isBetween ? -1 : 1, rank, sequence), item.element))
            }
        }
        return keyed.sorted { $0.key < $1.key }.map(\.element)
    }

    private var isSortedByName: Bool {
        zip(self, dropFirst()).allSatisfy { $0.element.sortName <= $1.element.sortName }
    }
}
