/// A queue in order of arrival.
///
/// Elements are removed at the front, or anywhere by the position that `append` returned.
struct FIFOQueue<Element> {
    private var elements: [Element?] = []
    /// The number of removed elements at the front of `elements`.
    ///
    /// `removedCount` is the number of elements that were deleted from the array in earlier compactions.
    private var head = 0
    private var removedCount = 0

    var first: Element? { head < elements.count ? elements[head] : nil }
    var isEmpty: Bool { head == elements.count }

    @discardableResult
    mutating func append(_ element: Element) -> Int {
        elements.append(element)
        return removedCount + elements.count - 1
    }

    mutating func removeFirst() {
        elements[head] = nil
        head += 1
        skipRemoved()
    }

    /// Removes the element at a position. Has no effect if the element is already removed.
    mutating func remove(at place: Int) {
        guard place - removedCount >= head else { return }
        elements[place - removedCount] = nil
        skipRemoved()
    }

    private mutating func skipRemoved() {
        while head < elements.count, elements[head] == nil { head += 1 }
        guard head == elements.count || head > 64 && head > elements.count / 2 else { return }
        elements.removeFirst(head)
        removedCount += head
        head = 0
    }
}
