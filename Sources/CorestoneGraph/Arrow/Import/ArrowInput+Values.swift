import CorestoneModel
import CorestoneValues

// Values of the current record batch.
extension ArrowInput {
    /// Whether a value is null. A value of a dictionary may be null itself.
    @inline(__always)
    func isNull(_ row: Int) -> Bool {
        guard let validity else { return type == .null }
        let bit = start + row
        return validity.load(fromByteOffset: bit >> 3, as: UInt8.self) >> UInt8(bit & 7) & 1 == 0
    }

    /// Returns a value as the nearest type of the library. It is valid as long as the record batch.
    ///
    /// Integers of 64 bits without a sign become decimals if they are too large.
    ///
    /// - Throws: `.invalidUTF8` for text that is not valid UTF-8.
    ///   `.invalidArgument` for an index or a view that leads outside of its buffer.
    func view(_ row: Int) throws -> ValueView {
        if isNull(row) { return .null }
        if let dictionary { return try dictionary.view(index(row, below: dictionary.count)) }
        switch type {
        case .null, .structure, .list, .fixedList: return .null
        case .bool:
            let bit = start + row
            let isSet = values.load(fromByteOffset: bit >> 3, as: UInt8.self) >> UInt8(bit & 7) & 1
            return ValueView(.bool, UInt64(isSet))
        case .int8, .uint8, .int16, .uint16, .int32, .uint32, .int64:
            return ValueView(.int, UInt64(bitPattern: integer(row)))
        case .uint64:
            let number = load(row, UInt64.self)
            return number <= UInt64(Int64.max) ? ValueView(.int, number) : ValueView(.decimal, number)
        case .half: return ValueView(.double, arrowDouble(half: load(row, UInt16.self)).bitPattern)
        case .float: return ValueView(.double, Double(Float(bitPattern: load(row, UInt32.self))).bitPattern)
        case .double: return ValueView(.double, load(row, UInt64.self))
        case .decimal(let width, let scale): return try decimal(row, width, scale)
        case .text: return try text(bytes(row))
        case .bytes: return ValueView(.bytes, try bytes(row))
        case .fixedBytes(let size):
            return ValueView(
                .bytes, UnsafeRawBufferPointer(start: values + (start + row) * size, count: size))
        case .date32: return date(Int64(load(row, Int32.self)), perSecond: 1, seconds: 86400)
        case .date64: return date(load(row, Int64.self), perSecond: 1000)
        case .timestamp(let perSecond, _): return date(load(row, Int64.self), perSecond: perSecond)
        }
    }

    /// Returns a text, or null for another value. Errors name the property whose objects the texts are URIs of.
    func uri(_ row: Int, of property: String, _ entity: Entity) throws -> PropertyValue {
        do {
            let view = try view(row)
            return view.type == .string ? view.propertyValue : .null
        } catch let error as CoreError {
            throw error.within("\(entity.name).\(property)", entity: entity.name, key: property)
        }
    }

    /// Returns the places of the items of a list, in the only child.
    func items(_ row: Int) -> Range<Int> {
        switch type {
        case .list: offset(row)..<offset(row + 1)
        case .fixedList(let size): (start + row) * size..<(start + row + 1) * size
        default: 0..<0
        }
    }

    @inline(__always)
    private func load<Number: BitwiseCopyable>(_ row: Int, _: Number.Type) -> Number {
        values.loadUnaligned(fromByteOffset: (start + row) * MemoryLayout<Number>.size, as: Number.self)
    }

    @inline(__always)
    private func integer(_ row: Int) -> Int64 {
        switch type {
        case .int8: Int64(load(row, Int8.self))
        case .uint8: Int64(load(row, UInt8.self))
        case .int16: Int64(load(row, Int16.self))
        case .uint16: Int64(load(row, UInt16.self))
        case .int32: Int64(load(row, Int32.self))
        case .uint32: Int64(load(row, UInt32.self))
        default: load(row, Int64.self)
        }
    }

    private func index(_ row: Int, below count: Int) throws -> Int {
        let place = integer(row)
        guard 0..<Int64(count) ~= place else {
            throw damaged("has the index \(place) into a dictionary with the count \(count)")
        }
        return Int(place)
    }

    /// Returns the bytes of a text or of binary data.
    @inline(__always)
    private func bytes(_ row: Int) throws -> UnsafeRawBufferPointer {
        if type.offsetWidth == 0 { return try viewedBytes(row) }
        let (first, end) = (offset(row), offset(row + 1))
        guard let data else { return UnsafeRawBufferPointer(start: ArrowInput.nothing, count: 0) }
        return UnsafeRawBufferPointer(start: data + first, count: end - first)
    }

    private func viewedBytes(_ row: Int) throws -> UnsafeRawBufferPointer {
        let view = values + (start + row) * 16
        let count = Int(view.loadUnaligned(as: Int32.self))
        guard count >= 0 else { throw damaged("has a value of \(count) bytes") }
        if count <= 12 { return UnsafeRawBufferPointer(start: view + 4, count: count) }
        let piece = Int(view.loadUnaligned(fromByteOffset: 8, as: Int32.self))
        let first = Int(view.loadUnaligned(fromByteOffset: 12, as: Int32.self))
        guard pieces.indices ~= piece, let data = pieces[piece] else {
            throw damaged("has a value in the buffer \(piece), which is missing")
        }
        let size = pieceSizes.loadUnaligned(fromByteOffset: piece * 8, as: Int64.self)
        guard first >= 0, Int64(first + count) <= size else {
            throw damaged("has a value at bytes \(first) to \(first + count), but the buffer size is \(size)")
        }
        return UnsafeRawBufferPointer(start: data + first, count: count)
    }

    @inline(__always)
    private func text(_ bytes: UnsafeRawBufferPointer) throws -> ValueView {
        guard bytes.count < Int(Int32.max) else { throw tooLong(bytes.count) }
        if let bad = firstInvalidUTF8(bytes) { throw notText(bad) }
        return ValueView(.string, bytes)
    }

    private func notText(_ place: Int) -> CoreError {
        CoreError(
            .invalidUTF8, "the text is not valid UTF-8 at byte \(place)", domain: CoreError.cocoaDomain, key: column,
            offset: place)
    }

    private func tooLong(_ count: Int) -> CoreError {
        CoreError(.invalidArgument, "the text has \(count) bytes, but the limit is 2147483646", key: column)
    }

    private func decimal(_ row: Int, _ width: Int, _ scale: Int) throws -> ValueView {
        let number =
            switch width {
            case 4: Int128(load(row, Int32.self))
            case 8: Int128(load(row, Int64.self))
            default: load(row, Int128.self)
            }
        // The sign of a decimal is separate, and its exponent has 8 bits.
        let decimal = DecimalNumber(
            mantissa: number.magnitude, exponent: Int8(clamping: -scale), isNegative: number < 0
        ).normalized
        let words = decimal.words
        return ValueView(.decimal, words.0, words.1, aux: decimal.aux)
    }

    /// Returns a date from units since 1970, `perSecond` of which are `seconds` seconds.
    @inline(__always)
    private func date(_ units: Int64, perSecond: Int64, seconds: Double = 1) -> ValueView {
        // The whole seconds and the rest are exact, unlike a single division of nanoseconds.
        let (whole, rest) = units.quotientAndRemainder(dividingBy: perSecond)
        let wholeSeconds = Double(whole) * seconds - Double(ReferenceDate.unixOffset)
        return ValueView(.date, (wholeSeconds + Double(rest) / Double(perSecond)).bitPattern)
    }
}

extension ValueView {
    /// Creates a view of bytes, which must outlive it.
    init(_ type: ValueType, _ bytes: UnsafeRawBufferPointer) {
        self.init(type, UInt64(UInt(bitPattern: bytes.baseAddress)), UInt64(bytes.count))
    }
}

/// Returns a number of half precision. `Float16` does not exist on every platform.
func arrowDouble(half bits: UInt16) -> Double {
    let (exponent, fraction) = (Int(bits >> 10 & 0x1F), Double(bits & 0x3FF))
    let magnitude: Double =
        switch exponent {
        case 0: fraction * 0x1p-24
        case 31: fraction == 0 ? .infinity : .nan
        default: (fraction / 1024 + 1) * Double(sign: .plus, exponent: exponent - 15, significand: 1)
        }
    return bits >> 15 == 0 ? magnitude : -magnitude
}
