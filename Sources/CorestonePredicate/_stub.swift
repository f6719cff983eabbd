// Stands in until the real types land; delete this file with that commit.
import CorestoneValues
public struct Predicate: Sendable { public func evaluate(with: PropertyValue) throws -> Bool { true } }
public struct SortDescriptor: Sendable { public var keyPath: String; public func compare(_ a: PropertyValue, _ b: PropertyValue) -> Int { 0 } }
public protocol KeyValueCoding: AnyObject { func value(forKey: String) throws -> PropertyValue }
public enum KeyPathEvaluation { public static func value(of: PropertyValue, atKeyPath: String) throws -> PropertyValue { .null } }
