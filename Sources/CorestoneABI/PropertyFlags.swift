import CorestoneModel
import CorestoneValues

/// The flags of a property: the `CST_PROPERTY_` constants.
struct PropertyFlags: OptionSet {
    let rawValue: UInt32

    static let optional = PropertyFlags(rawValue: 1)
    static let transient = PropertyFlags(rawValue: 2)
    static let toMany = PropertyFlags(rawValue: 4)
    static let ordered = PropertyFlags(rawValue: 8)
    static let indexed = PropertyFlags(rawValue: 16)
    static let externalStorage = PropertyFlags(rawValue: 32)
    static let preserved = PropertyFlags(rawValue: 64)
    static let allowsNaN = PropertyFlags(rawValue: 128)
    static let spotlight = PropertyFlags(rawValue: 256)
    static let externalRecord = PropertyFlags(rawValue: 512)
    static let cloudEncryption = PropertyFlags(rawValue: 1024)
    static let ignoresChanges = PropertyFlags(rawValue: 4096)
    /// The attribute is derived. The flag is only reported and cannot be set.
    static let derived = PropertyFlags(rawValue: 2048)

    static let common: PropertyFlags = [.optional, .transient, .spotlight, .externalRecord]
    static let attributes: PropertyFlags = [
        common, .indexed, .externalStorage, .preserved, .allowsNaN, .cloudEncryption,
        .ignoresChanges,
    ]
    static let elements: PropertyFlags = [.optional, .externalStorage, .preserved, .allowsNaN]
    static let relationships: PropertyFlags = [common, .toMany, .ordered]

    private static let names: [(flag: PropertyFlags, name: String)] = [
        (.optional, "OPTIONAL"), (.transient, "TRANSIENT"), (.toMany, "TO_MANY"), (.ordered, "ORDERED"),
        (.indexed, "INDEXED"), (.externalStorage, "EXTERNAL_STORAGE"), (.preserved, "PRESERVED"),
        (.allowsNaN, "ALLOWS_NAN"), (.spotlight, "SPOTLIGHT"), (.externalRecord, "EXTERNAL_RECORD"),
        (.cloudEncryption, "CLOUD_ENCRYPTION"), (.ignoresChanges, "IGNORES_CHANGES"),
    ]

    /// The constants of the flags, each with its parameter in Python, for messages: `CST_PROPERTY_OPTIONAL (optional)`.
    ///
    /// The last element is the number of the bits without a constant, if there are such bits.
    private var constants: [String] {
        var names = PropertyFlags.names.filter { contains($0.flag) }.map {
            "CST_PROPERTY_\($0.name) (\($0.name.lowercased()))"
        }
        if contains(.derived) { names.append("CST_PROPERTY_DERIVED") }
        let known = PropertyFlags.names.reduce(PropertyFlags.derived) { $0.union($1.flag) }
        let unknown = rawValue & ~known.rawValue
        if unknown != 0 { names.append("0x\(String(unknown, radix: 16))") }
        return names
    }

    /// Returns a list of constants for a message: `A, B or C`.
    private static func list(_ constants: [String], _ conjunction: String) -> String {
        guard let last = constants.last, constants.count > 1 else { return constants.joined() }
        return constants.dropLast().joined(separator: ", ") + " \(conjunction) \(last)"
    }

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(checking flags: UInt32, allowed: PropertyFlags, _ entity: String, _ key: String) throws {
        let unknown = flags & ~allowed.rawValue
        guard unknown == 0 else {
            let found = PropertyFlags(rawValue: unknown).constants
            throw CoreError(
                .invalidArgument,
                "\(entity).\(key) does not support the flag\(found.count == 1 ? "" : "s") "
                    + "\(PropertyFlags.list(found, "and")); use \(PropertyFlags.list(allowed.constants, "or"))",
                entity: entity, key: key, value: .int(Int64(flags)))
        }
        self.init(rawValue: flags)
    }

    /// Returns the flags that can be set for a property.
    static func allowed(for property: Property) -> PropertyFlags {
        switch property {
        case is Attribute: attributes
        case is Relationship: relationships
        default: common
        }
    }

    /// Sets the flags in `mask` of a property to their values in this set. The property must support them.
    func apply(to property: Property, _ mask: PropertyFlags) throws {
        func each(_ flag: PropertyFlags, _ set: (Bool) throws -> Void) throws {
            if mask.contains(flag) { try set(contains(flag)) }
        }
        try each(.optional, property.setOptional)
        try each(.transient, property.setTransient)
        try each(.spotlight, property.setIndexedBySpotlight)
        try each(.externalRecord, property.setStoredInExternalRecord)
        if let attribute = property as? Attribute {
            try each(.externalStorage, attribute.setAllowsExternalStorage)
            try each(.preserved, attribute.setPreservesValueInHistory)
            try each(.allowsNaN, attribute.setAllowsNaN)
            try each(.ignoresChanges, attribute.setIgnoresChanges)
            try each(.cloudEncryption, attribute.setAllowsCloudEncryption)
            try each(.indexed, attribute.setOwnIndex)
        } else if let relationship = property as? Relationship {
            try each(.toMany, relationship.setToMany)
            try each(.ordered, relationship.setOrdered)
        }
    }
}

extension Attribute {
    /// Whether the attribute has a fetch index of the same name that consists of this attribute only.
    var hasOwnIndex: Bool {
        entity.indexes.contains { $0.name == name && $0.elements.map(\.property) == [name] }
    }

    fileprivate func setOwnIndex(_ value: Bool) throws {
        if value == hasOwnIndex { return }
        if value {
            try entity.addIndex(FetchIndex(name: name, elements: [.init(property: name)]))
        } else {
            try entity.removeIndex(named: name)
        }
    }
}
