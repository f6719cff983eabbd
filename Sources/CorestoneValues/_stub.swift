// Stands in until the real functions land; delete this file with that commit.
extension UUIDValue: CustomStringConvertible {
    public static func random() -> UUIDValue { UUIDValue(high: 0, low: 0) }
    public var description: String { "" }
}
