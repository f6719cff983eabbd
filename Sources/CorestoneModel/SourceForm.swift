/// The spelling of a source model where several spellings have the same meaning.
///
/// The writer repeats it, so that a rewritten file differs only in actual changes.
struct SourceForm: Hashable, Sendable {
    /// The original spelling of an attribute.
    struct Spelling: Hashable, Sendable {
        let text: String
        /// The text that the writer would have produced for the original model.
        ///
        /// While the writer would still produce this text, the original text is used.
        let instead: String?
    }

    /// The index of the element in its parent; nil if the element was not read from a source model.
    var place: Int?
    /// Whether the file ends with a newline, unlike Xcode's files. Used only for the model itself.
    var endsLine = false
    var spellings: [String: Spelling] = [:]
    /// The original elements that are not in the extras, if the writer would have produced different ones.
    var elements: [SourceElement] = []
    /// The elements that the writer would have produced instead of the original ones, by kind and name.
    var instead: [SourceElement.Identity: [SourceElement]] = [:]

    init(place: Int? = nil) { self.place = place }
}

extension SourceForm {
    /// Records the attributes that the writer would spell differently.
    mutating func note(_ original: [String: String], _ extras: SourceExtras, instead written: [String: String]) {
        for (name, text) in original {
            let instead = written[name]
            if instead == text || (instead == nil && extras.attributes[name] != nil) { continue }
            spellings[name] = Spelling(text: text, instead: instead)
        }
    }

    /// Records the elements that the writer would write differently or at another position.
    ///
    /// Neither list contains properties or entities.
    mutating func note(_ original: [SourceElement], _ extras: SourceExtras, instead written: [SourceElement]) {
        let originalGroups = Dictionary(grouping: original, by: \.identity)
        let writtenGroups = Dictionary(grouping: written, by: \.identity)
        let isInOrder = zip(original, original.dropFirst()).allSatisfy { $0.rank <= $1.rank }
        let extra = Set(extras.elements.map(\.place))
        for (identity, group) in originalGroups {
            let instead = writtenGroups[identity] ?? []
            if isInOrder, group.count == instead.count, zip(group, instead).allSatisfy({ $0.hasSameContent(as: $1) }) {
                continue
            }
            elements += group.filter { !extra.contains($0.place) && !instead.isEmpty }
            if !instead.isEmpty { self.instead[identity] = instead }
        }
    }

    /// Returns the attributes of an element for the current model, in the original spelling where that still applies.
    func attributes(_ written: [String: String], _ extras: SourceExtras) -> [String: String] {
        var attributes = written
        for (name, spelling) in spellings where spelling.instead == written[name] { attributes[name] = spelling.text }
        for (name, text) in extras.attributes where attributes[name] == nil { attributes[name] = text }
        return attributes
    }

    /// Returns the child elements except properties and entities, with their original index if they have one.
    func elements(_ written: [SourceElement], _ extras: SourceExtras) -> [SourceItem] {
        let original = Dictionary(grouping: elements + extras.elements, by: \.identity)
        var items: [SourceItem] = []
        var done: Set<SourceElement.Identity> = []
        let writtenGroups = Dictionary(grouping: written, by: \.identity)
        for identity in (written + elements + extras.elements).map(\.identity) where done.insert(identity).inserted {
            let now = writtenGroups[identity] ?? []
            let kept = (original[identity] ?? []).sorted { $0.place < $1.place }
            let before = instead[identity] ?? []
            if kept.isEmpty {
                items += now.map { SourceItem($0) }
            } else if now.count == before.count, zip(now, before).allSatisfy({ $0.hasSameContent(as: $1) }) {
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

/// An element to be written, and its index when it was read.
struct SourceItem {
    var element: SourceElement
    var place: Int?
    /// Whether elements of its kind are sorted by name, as by Xcode.
    var isSorted = false

    init(_ element: SourceElement, place: Int? = nil, isSorted: Bool = false) {
        self.element = element
        self.place = place
        self.isSorted = isSorted
    }
}

extension [SourceItem] {
    /// The elements in the order of their indexes.
    ///
    /// A new element is placed among the elements of its kind: by name if the kind is sorted, otherwise after them.
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
            // The position is after the elements of the same kind, or else after those of all preceding kinds.
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
