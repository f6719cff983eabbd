import Corestone

// XCTest brings Foundation along, which has types of these names.
typealias Predicate = CorestonePredicate.Predicate
typealias SortDescriptor = CorestonePredicate.SortDescriptor
typealias KeyPath = CorestonePredicate.KeyPath
typealias Expression = CorestonePredicate.Expression
