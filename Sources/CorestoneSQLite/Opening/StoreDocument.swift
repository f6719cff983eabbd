import CorestoneModel
import CorestoneValues

/// What a store says about itself: its identifier and the version hashes of the entities it was written with.
struct StoreDocument {
    /// Upper-case UUID text.
    let identifier: String
    /// The binary property list of `Z_METADATA`.
    let propertyList: [UInt8]
    /// By entity name; nil when the store does not say.
    let hashes: [String: [UInt8]]?

    /// For a new store of that model.
    init(fresh model: Model) throws {
        identifier = StoreDocument.makeIdentifier()
        hashes = nil
        propertyList = []
    }

    /// From the row of `Z_METADATA`. A missing or unreadable property list leaves the hashes out.
    init(identifier: String, propertyList: [UInt8]) {
        self.identifier = identifier
        self.propertyList = propertyList
        hashes = nil
    }

    /// The compiled model as a store keeps it.
    static func modelCache(of model: Model) throws -> [UInt8] { [] }

    static func versionHashes(of model: Model) -> [String: [UInt8]] { [:] }

    /// A random UUID (version 4) as text.
    static func makeIdentifier() -> String {
        var generator = SystemRandomNumberGenerator()
        var high: UInt64 = generator.next()
        var low: UInt64 = generator.next()
        high = high & ~0xf000 | 0x4000
        low = low & ~(0xc000 << 48) | 0x8000 << 48
        func hex(_ value: UInt64, _ digits: Int) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return String(repeating: "0", count: digits - text.utf8.count) + text
        }
        return [
            hex(high >> 32, 8), hex(high >> 16 & 0xffff, 4), hex(high & 0xffff, 4), hex(low >> 48, 4), hex(low & 0xffff_ffff_ffff, 12),
        ].joined(separator: "-")
    }
}
