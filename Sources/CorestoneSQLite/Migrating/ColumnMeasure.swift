import CSQLite
import CorestoneModel
import CorestoneValues

/// A summary of a column's values that does not depend on their order.
struct ColumnMeasure: Equatable {
    /// The number of values that are not null.
    let count: Int64
    /// The exact sum of the numbers, in a form that is identical for equal sums.
    let sum: String
    /// The total length of texts and data in bytes.
    let length: Int64
    /// The sum of the hashes of the values.
    let hash: String
    /// The sum of the numbers for messages, rounded if necessary.
    let shownSum: String

    /// Parses a result of `MeasureFunctions.measure`; nil if the text is invalid.
    init?(_ text: String?) {
        let parts = (text ?? "").split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, let count = Int64(parts[0]), let length = Int64(parts[2]) else { return nil }
        (self.count, sum, self.length, hash, shownSum) = (count, parts[1], length, parts[3], parts[4])
    }

    /// Returns the first difference from the expected values, as a clause for a message, and the value that was found.
    func difference(from expected: ColumnMeasure) -> (text: String, found: String)? {
        if count != expected.count {
            return ("has \(counted(count, "value")), but \(wereExpected(expected.count))", "\(count)")
        }
        if sum != expected.sum { return ("has the sum \(shownSum), but \(expected.shownSum) was expected", shownSum) }
        if length != expected.length {
            return ("has \(counted(length, "byte")), but \(wereExpected(expected.length))", "\(length)")
        }
        if hash != expected.hash {
            return ("has other values than expected (hash \(hash), expected \(expected.hash))", hash)
        }
        return nil
    }
}

/// Returns a number with its noun, for messages.
func counted(_ count: Int64, _ noun: String) -> String { count == 1 ? "1 \(noun)" : "\(count) \(noun)s" }

/// Returns the expected number as the end of a message.
func wereExpected(_ count: Int64) -> String { count == 1 ? "1 was expected" : "\(count) were expected" }

extension Property {
    /// Returns the text of a stored value for messages, in double quotes unless the value is a number or null.
    ///
    /// Only the first 60 characters of a longer value are shown.
    func shown(stored text: String?) -> String {
        guard let text else { return "null" }
        let type = (self as? Attribute)?.type
        let shown = text.count > 60 ? "\(text.prefix(60))…" : text
        return type == .string || type == .uri || Double(text) == nil ? "\"\(shown)\"" : shown
    }

    /// Returns the difference of a stored value from the expected one as the end of a sentence.
    ///
    /// Both values may be cut, and then be equal.
    func difference(ofStored found: String?, from expected: String?) -> String {
        found == expected
            ? "differs from the expected value"
            : "is \(shown(stored: found)), but \(shown(stored: expected)) was expected"
    }
}

/// The SQL functions that compare migrated values. `end` must be called before the connection is closed.
final class MeasureFunctions {
    /// `cst_measure(value, …)`: the aggregate function of `ColumnMeasure`. With several arguments, each row counts as
    /// one value.
    static let measure = "cst_measure"
    /// `cst_content(value)`: a value of an attribute with external storage, without its mark.
    ///
    /// For a value in a backing file, this is the content of the file; null if the file cannot be read.
    static let content = "cst_content"

    private let connection: Connection
    private let folder: String

    /// Registers the functions.
    ///
    /// - Parameter externalFolder: The folder of the backing files.
    init(_ connection: Connection, externalFolder: String) throws {
        (self.connection, folder) = (connection, externalFolder)
        let measure = sqlite3_create_function_v2(
            connection.db, MeasureFunctions.measure, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, nil, nil,
            { MeasureState.step($0, $1, $2) }, { MeasureState.finish($0) }, nil)
        let content = sqlite3_create_function_v2(
            connection.db, MeasureFunctions.content, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passUnretained(self).toOpaque(),
            { context, _, arguments in
                guard let context, let arguments, let userData = sqlite3_user_data(context) else { return }
                Unmanaged<MeasureFunctions>.fromOpaque(userData).takeUnretainedValue().content(context, arguments)
            }, nil, nil, nil)
        guard measure == SQLITE_OK, content == SQLITE_OK else {
            throw connection.error(
                max(measure, content), "register the SQL functions of a verification of \(connection.path)",
                cocoaCode: .migration)
        }
    }

    func end() {
        for (name, count) in [(MeasureFunctions.measure, -1), (MeasureFunctions.content, 1)] {
            sqlite3_create_function_v2(connection.db, name, Int32(count), SQLITE_UTF8, nil, nil, nil, nil, nil)
        }
    }

    private func content(_ context: OpaquePointer, _ arguments: UnsafeMutablePointer<OpaquePointer?>) {
        guard sqlite3_value_type(arguments[0]) == SQLITE_BLOB else {
            return sqlite3_result_value(context, arguments[0])
        }
        let bytes = UnsafeRawBufferPointer(
            start: sqlite3_value_blob(arguments[0]), count: Int(sqlite3_value_bytes(arguments[0])))
        switch bytes.first {
        case ExternalFile.inlineMark?:
            cst_sqlite3_result_blob_copy(context, bytes.baseAddress.map { $0 + 1 }, Int32(clamping: bytes.count - 1))
        case ExternalFile.fileMark?:
            guard let name = ExternalFile.name(in: bytes),
                case .bytes(let content) = ExternalFile.read("\(folder)/\(name)", connection.limits)
            else { return sqlite3_result_null(context) }
            cst_sqlite3_result_blob_copy(context, content.rawBytes.baseAddress, Int32(clamping: content.count))
        default: sqlite3_result_value(context, arguments[0])
        }
    }
}

/// The state of one aggregate, as 64-bit numbers at fixed positions in memory that SQLite zeroes.
///
/// The sum of numbers is exact: a double is an integer times a power of two, and each word from index `sum` on holds
/// 32 bits of the sum.
private struct MeasureState {
    private static let places = 72
    private static let size = 8 * (4 + places)
    private static let count = 0, length = 1, hash = 2, endless = 3, sum = 4
    /// The negated exponent of the smallest positive double. The first bit of the sum stands for this double.
    private static let lowest = 1074

    private let words: UnsafeMutablePointer<Int64>

    private init?(_ context: OpaquePointer?, _ size: Int = MeasureState.size) {
        guard let memory = sqlite3_aggregate_context(context, Int32(size)) else { return nil }
        words = memory.assumingMemoryBound(to: Int64.self)
    }

    static func step(
        _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        guard let arguments, let state = MeasureState(context) else { return }
        if count == 1 {
            if sqlite3_value_type(arguments[0]) == SQLITE_NULL { return }
            state.add(arguments[0])
        }
        var hash: UInt64 = 0
        for place in 0..<Int(count) { hash = mixed(hash ^ self.hash(arguments[place]) &+ UInt64(place)) }
        state.words[MeasureState.count] &+= 1
        state.words[MeasureState.hash] &+= Int64(bitPattern: hash)
    }

    static func finish(_ context: OpaquePointer?) {
        guard let context else { return }
        var text = "0||0|0|0"
        if let state = MeasureState(context, 0) { text = state.text }
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                cst_sqlite3_result_text_copy(context, $0.baseAddress, Int32(clamping: $0.count))
            }
        }
    }

    // MARK: - Values

    private func add(_ value: OpaquePointer?) {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER:
            let number = sqlite3_value_int64(value)
            add(number.magnitude, exponent: MeasureState.lowest, isNegative: number < 0)
        case SQLITE_FLOAT:
            let number = sqlite3_value_double(value)
            guard number.isFinite else {
                words[MeasureState.endless] &+= number > 0 ? 1 : -1
                return
            }
            let exponent = max(Int(number.exponentBitPattern), 1)
            let hidden: UInt64 = number.exponentBitPattern == 0 ? 0 : 1 << 52
            add(number.significandBitPattern | hidden, exponent: exponent - 1, isNegative: number.sign == .minus)
        default: words[MeasureState.length] &+= Int64(sqlite3_value_bytes(value))
        }
    }

    private func add(_ number: UInt64, exponent: Int, isNegative: Bool) {
        let (place, shift) = (MeasureState.sum + exponent / 32, UInt64(exponent % 32))
        let low = number << shift
        let high = shift == 0 ? 0 : number >> (64 - shift)
        for (offset, part) in [low & 0xffff_ffff, low >> 32, high].enumerated() {
            let part = Int64(part)
            words[place + offset] &+= isNegative ? -part : part
            // Carries long before the word overflows.
            if abs(words[place + offset]) > 1 << 61 { carry() }
        }
    }

    private func carry() { MeasureState.carry(words + MeasureState.sum) }

    /// Carries the excess, so that each word holds 32 bits. The last word has the sign.
    private static func carry(_ words: UnsafeMutablePointer<Int64>) {
        for place in 0..<(places - 1) {
            let above = words[place] >> 32
            words[place] -= above << 32
            words[place + 1] &+= above
        }
    }

    private static func mixed(_ hash: UInt64) -> UInt64 {
        var hash = (hash ^ hash >> 32) &* 0xd6e8_feb8_6659_fd93
        hash = (hash ^ hash >> 32) &* 0xd6e8_feb8_6659_fd93
        return hash ^ hash >> 32
    }

    /// Returns the hash of a value.
    ///
    /// Equal numbers have the same hash, whether they are stored as integers or as doubles.
    private static func hash(_ value: OpaquePointer?) -> UInt64 {
        let type = sqlite3_value_type(value)
        switch type {
        case SQLITE_NULL: return 0x9e37_79b9_7f4a_7c15
        case SQLITE_INTEGER: return mixed(UInt64(bitPattern: sqlite3_value_int64(value)) ^ 0x51)
        case SQLITE_FLOAT:
            let number = sqlite3_value_double(value)
            if let whole = Int64(exactly: number) { return mixed(UInt64(bitPattern: whole) ^ 0x51) }
            return mixed(number.bitPattern ^ 0xf1)
        default:
            // The text is read before its length, because `sqlite3_value_text` may convert the value.
            let start: UnsafeRawPointer? =
                type == SQLITE_TEXT ? sqlite3_value_text(value).map { UnsafeRawPointer($0) } : sqlite3_value_blob(value)
            let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
            var hash: UInt64 = (type == SQLITE_TEXT ? 0x7e : 0xb1) &+ UInt64(bytes.count) << 8
            var place = 0
            while place + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                hash = (hash ^ word) &* 0x9fb2_1c65_1e98_df25
                hash ^= hash >> 35
                place += 8
            }
            for byte in bytes[place...] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return mixed(hash)
        }
    }

    // MARK: - The result

    private var text: String {
        carry()
        let parts = words + MeasureState.sum
        let isNegative = parts[MeasureState.places - 1] < 0
        if isNegative {
            for place in 0..<MeasureState.places { parts[place] = -parts[place] }
            carry()
        }
        var sum = isNegative ? "-" : ""
        var shown = 0.0
        for place in 0..<MeasureState.places where parts[place] != 0 {
            let part = parts[place]
            sum += "\(place):\(String(part, radix: 16)),"
            shown += Double(sign: .plus, exponent: 32 * place - MeasureState.lowest, significand: Double(part))
        }
        if isNegative { shown = -shown }
        let endless = words[MeasureState.endless]
        if endless != 0 { sum += "endless:\(endless)" }
        let whole = Int64(exactly: shown).map { "\($0)" } ?? "\(shown)"
        let hash = String(UInt64(bitPattern: words[MeasureState.hash]), radix: 16)
        return
            "\(words[MeasureState.count])|\(sum)|\(words[MeasureState.length])|\(hash)|\(endless == 0 ? whole : "infinite")"
    }
}
