import Glibc

extension UUIDValue {
    /// Creates a UUID from 16 bytes in big-endian order. Returns nil for any other number of bytes.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    public var bytes: [UInt8] {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) }
    }

    /// Returns a random UUID (version 4) from the kernel's generator.
    public static func random() -> UUIDValue {
        var generator = SystemRandomNumberGenerator()
        let (high, low) = (generator.next(), generator.next())
        return UUIDValue(high: high & ~0xF000 | 0x4000, low: low & ~(0xC0 << 56) | 0x80 << 56)
    }

    /// Parses 32 hexadecimal digits of either case in groups of 8, 4, 4, 4 and 12, separated by hyphens.
    ///
    /// Returns nil for any other text.
    public init?(_ text: String) {
        let utf8 = Array(text.utf8)
        guard utf8.count == 36 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        for (index, byte) in utf8.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard byte == 0x2D else { return nil }
                continue
            }
            let digit: UInt64
            switch byte {
            case 0x30...0x39: digit = UInt64(byte - 0x30)
            case 0x41...0x46, 0x61...0x66: digit = UInt64((byte | 0x20) - 0x61 + 10)
            default: return nil
            }
            high = high << 4 | low >> 60
            low = low << 4 | digit
        }
        self.init(high: high, low: low)
    }
}

extension UUIDValue: CustomStringConvertible {
    /// The text in upper case with hyphens, as Core Data writes it.
    public var description: String {
        let hexadecimal = Array("0123456789ABCDEF".utf8)
        return String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for (index, byte) in bytes.enumerated() {
                if [4, 6, 8, 10].contains(index) {
                    text[place] = 0x2D
                    place += 1
                }
                text[place] = hexadecimal[Int(byte >> 4)]
                text[place + 1] = hexadecimal[Int(byte & 15)]
                place += 2
            }
            return place
        }
    }
}
