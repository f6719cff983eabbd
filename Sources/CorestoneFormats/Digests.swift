import CDigest
import CZlib
import Glibc

/// Returns the SHA-256 digest of the bytes: 32 bytes.
package func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var context = SHA2_CTX()
    SHA256Init(&context)
    SHA256Update(&context, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256Final(&digest, &context)
    return digest
}

/// Returns the SHA-256 digest of a file of any size; nil if it cannot be read.
package func sha256(ofFileAt path: String) -> [UInt8]? {
    guard let file = fopen(path, "rbe") else { return nil }
    defer { fclose(file) }
    var context = SHA2_CTX()
    SHA256Init(&context)
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 { SHA256Update(&context, piece, count) }
    guard ferror(file) == 0 else { return nil }
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256Final(&digest, &context)
    return digest
}

/// Returns the SHA-512 digest of the bytes: 64 bytes.
package func sha512(_ bytes: [UInt8]) -> [UInt8] {
    var context = SHA2_CTX()
    SHA512Init(&context)
    SHA512Update(&context, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: Int(SHA512_DIGEST_LENGTH))
    SHA512Final(&digest, &context)
    return digest
}

/// Returns the CRC-32 checksum of the bytes, as zlib computes it.
package func checksum(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBytes { UInt32(truncatingIfNeeded: crc32_z(0, $0.baseAddress, $0.count)) }
}
