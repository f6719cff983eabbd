/// Elements in order of arrival, taken out at the front, or anywhere by the place that `append` gave.
struct Line<Element> {
    private var elements: [Element?] = []
    /// How many left the front of `elements`, and how many were ever cut off before it.
    private var head = 0
    private var cut = 0

    var first: Element? { head < elements.count ? elements[head] : nil }
    var isEmpty: Bool { head == elements.count }

    @discardableResult
    mutating func append(_ element: Element) -> Int {
        elements.append(element)
        return cut + elements.count - 1
    }

    mutating func removeFirst() {
        elements[head] = nil
        head += 1
        skip()
    }

    /// Nothing happens when it left already.
    mutating func remove(at place: Int) {
        guard place - cut >= head else { return }
        elements[place - cut] = nil
        skip()
    }

    private mutating func skip() {
        while head < elements.count, elements[head] == nil { head += 1 }
        guard head == elements.count || head > 64 && head > elements.count / 2 else { return }
        elements.removeFirst(head)
        cut += head
        head = 0
    }
}
