import CorestoneGraph
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// A comparison of a row's number, date or Boolean with a constant, without the predicate evaluator.
///
/// It has the same result as the evaluator, and never fails.
struct QuickTest {
    private let slot: Int
    private let layout: SlotLayout
    private let comparison: Comparison.Operator
    private let operand: Operand

    private enum Operand {
        case whole(Int64)
        case real(Double)
    }

    /// Creates the test for a predicate, or nil if the predicate is not such a comparison.
    init?(_ predicate: Predicate, _ entity: Entity) {
        guard case .comparison(let comparison) = predicate, comparison.modifier == .direct,
            case .keyPath(let path) = comparison.left, let key = path.single,
            let value = comparison.right.constantValue,
            let attribute = entity.property(named: key.text) as? Attribute
        else { return nil }
        switch comparison.operator {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: break
        default: return nil
        }
        let slot = Int(attribute.slot)
        let layout = entity.layout.slots[slot]
        (self.slot, self.layout, self.comparison) = (slot, layout, comparison.operator)
        if layout.role != .attribute { return nil }
        // Subentities must have the attribute at the same offset.
        let isInPlace = entity.withDescendants.allSatisfy {
            $0.layout.slots[slot].offset == layout.offset && $0.layout.slots[slot].kind == layout.kind
        }
        guard isInPlace else { return nil }
        switch (layout.kind, value) {
        case (.int16, .int(let number)), (.int32, .int(let number)), (.int64, .int(let number)),
            (.bool, .int(let number)):
            operand = .whole(number)
        case (.bool, .bool(let flag)): operand = .whole(flag ? 1 : 0)
        case (.double, .double(let number)), (.date, .date(let number)):
            if number.isNaN { return nil }
            operand = .real(number)
        case (.double, .int(let number)):
            // A double cannot represent every larger integer.
            if number.magnitude > 1 << 53 { return nil }
            operand = .real(Double(number))
        default: return nil
        }
    }

    @inline(__always)
    func holds(_ record: Record) -> Bool {
        let view = record.view(slot, layout)
        if view.type == .null { return comparison == .notEqual }
        switch operand {
        case .whole(let number): return holds(view.integer, number)
        case .real(let number): return holds(view.double, number)
        }
    }

    @inline(__always)
    private func holds<Number: Comparable>(_ a: Number, _ b: Number) -> Bool {
        switch comparison {
        case .equal: a == b
        case .notEqual: a != b
        case .less: a < b
        case .lessOrEqual: a <= b
        case .greater: a > b
        default: a >= b
        }
    }
}
