import CorestonePredicate

// XCTest imports Foundation, which has types of these names.
typealias Predicate = CorestonePredicate.Predicate
typealias Expression = CorestonePredicate.Expression
typealias SortDescriptor = CorestonePredicate.SortDescriptor
typealias KeyPath = CorestonePredicate.KeyPath
