import CorestoneFormats
import CorestoneModel

/// An array of 64-bit integers, encoded in little-endian order.
struct PackedNumbers: RandomAccessCollection {
    let bytes: [UInt8]
    let startIndex = 0
    var endIndex: Int { bytes.count / 8 }

    /// Creates the array, or nil unless the value is data with a whole number of integers.
    init?(_ value: PropertyListValue?) {
        guard let data = value?.data, data.count % 8 == 0 else { return nil }
        bytes = data
    }

    subscript(_ place: Int) -> Int64 {
        bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(fromByteOffset: place * 8, as: Int64.self)) }
    }

    /// Creates an array by encoding numbers as in a file.
    init(_ numbers: [Int64]) { bytes = PackedNumbers.bytes(numbers) }

    static func bytes(_ numbers: [Int64]) -> [UInt8] {
        numbers.map(\.littleEndian).withUnsafeBytes { Array($0) }
    }
}
