/// Elements grouped by key; both groups and elements are in the order of addition.
struct GroupedElements<Key: AnyObject, Element> {
    private(set) var list: [(key: Key, elements: [Element])] = []
    private var places: [ObjectIdentifier: Int] = [:]

    mutating func add(_ element: Element, to key: Key) {
        // Updated by index, because a copy of a group would share its list, and each append would copy the list. Most
        // elements have the same key as the previous one.
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
