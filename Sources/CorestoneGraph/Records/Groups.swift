/// Things by what they belong to, both in the order in which they came.
struct Groups<Key: AnyObject, Element> {
    private(set) var list: [(key: Key, elements: [Element])] = []
    private var places: [ObjectIdentifier: Int] = [:]

    mutating func add(_ element: Element, to key: Key) {
        // By place: a copy of a group would share its list, and each append would copy that. Most things belong where the
        // one before did.
        if let last = list.indices.last, list[last].key === key {
            list[last].elements.append(element)
        } else if let place = places[ObjectIdentifier(key)] {
            list[place].elements.append(element)
        } else {
            places[ObjectIdentifier(key)] = list.count
            list.append((key, [element]))
        }
    }
}
