import CorestoneModel

/// Whole numbers of 64 bits, one after the other, the low byte first.
struct PackedNumbers: RandomAccessCollection {
    let bytes: [UInt8]
    let startIndex = 0
    var endIndex: Int { bytes.count / 8 }

    /// nil for what is no such data.
    init?(_ value: PropertyListValue?) {
        guard let data = value?.data, data.count % 8 == 0 else { return nil }
        bytes = data
    }

    subscript(_ place: Int) -> Int64 {
        bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(fromByteOffset: place * 8, as: Int64.self)) }
    }

    /// As they lie in a file.
    init(_ numbers: [Int64]) { bytes = PackedNumbers.bytes(numbers) }

    static func bytes(_ numbers: [Int64]) -> [UInt8] {
        numbers.map(\.littleEndian).withUnsafeBytes { Array($0) }
    }
}
