import CDigest

/// SHA-256 of the bytes: 32 bytes.
func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var context = SHA2_CTX()
    SHA256Init(&context)
    SHA256Update(&context, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256Final(&digest, &context)
    return digest
}

/// SHA-512 of the bytes: 64 bytes.
func sha512(_ bytes: [UInt8]) -> [UInt8] {
    var context = SHA2_CTX()
    SHA512Init(&context)
    SHA512Update(&context, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: Int(SHA512_DIGEST_LENGTH))
    SHA512Final(&digest, &context)
    return digest
}

/// Base64 with padding and without line breaks.
func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
        for place in 0..<4 {
            let digit = alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)]
            text.append(place <= group.count ? digit : UInt8(ascii: "="))
        }
    }
    return String(decoding: text, as: UTF8.self)
}
