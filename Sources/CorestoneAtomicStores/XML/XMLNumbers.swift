/// Numbers in the format of an XML store, independent of the locale.
extension XMLBytes {
    func append(_ number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(digits: number.magnitude, atLeast: 1)
    }

    func append(digits number: UInt64, atLeast least: Int) {
        let most = 20
        let place = room(most)
        var (rest, length) = (number, 0)
        repeat {
            place[most - 1 - length] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            length += 1
        } while rest > 0 || length < least
        place.update(from: place + most - length, count: length)
        advance(length)
    }

    /// Appends the shortest decimal representation that is read as the same number.
    func append(_ number: Double) { append(number.description) }

    /// Appends the shortest representation with single precision, or with double precision if only that is exact.
    func append(single number: Double) {
        let single = Float(number)
        append(Double(single) == number ? single.description : number.description)
    }

    /// Appends seconds with twenty decimals, as Core Data writes dates.
    ///
    /// Uses `append(_: Double)` for values outside the range of this format.
    func append(seconds: Double) {
        let magnitude = seconds.magnitude
        guard magnitude == 0 || (magnitude >= 0x1p-13 && magnitude < 0x1p63) else { return append(seconds) }
        // From 2^-13 on, the last bit of a fraction is worth at least 2^-65.
        let bits = 65
        var whole = UInt64(magnitude)
        let fraction = magnitude - Double(whole)
        let (high, low) = (UInt64(fraction * 0x1p53), (fraction * 0x1p53).truncatingRemainder(dividingBy: 1))
        var rest = UInt128(high) << 12 | UInt128(UInt64(low * 0x1p12))
        let tenDigits: UInt128 = 10_000_000_000
        rest *= tenDigits
        var first = UInt64(rest >> UInt128(bits))
        rest = (rest & (1 << UInt128(bits) - 1)) * tenDigits
        var second = UInt64(rest >> UInt128(bits))
        rest &= 1 << UInt128(bits) - 1
        let half: UInt128 = 1 << UInt128(bits - 1)
        if rest > half || (rest == half && second & 1 == 1) {
            second += 1
            if second == tenDigits { (first, second) = (first + 1, 0) }
            if first == tenDigits { (whole, first) = (whole + 1, 0) }
        }
        if seconds.sign == .minus { append(UInt8(ascii: "-")) }
        append(digits: whole, atLeast: 1)
        append(UInt8(ascii: "."))
        append(digits: first, atLeast: 10)
        append(digits: second, atLeast: 10)
    }

    // MARK: Reading

    /// Parses the buffer as an integer; nil if it is invalid or out of range.
    func integer() -> Int64? {
        var place = 0
        let isNegative = count > 0 && start[0] == UInt8(ascii: "-")
        if isNegative || (count > 0 && start[0] == UInt8(ascii: "+")) { place = 1 }
        guard place < count else { return nil }
        var number: Int64 = 0
        while place < count {
            let digit = start[place] &- 0x30
            guard digit < 10 else { return nil }
            let (product, overflow) = number.multipliedReportingOverflow(by: 10)
            // The number is accumulated as a negative number, because the negative range is larger by one.
            let (sum, carry) = product.subtractingReportingOverflow(Int64(digit))
            if overflow || carry { return nil }
            number = sum
            place += 1
        }
        if isNegative { return number }
        return number == .min ? nil : -number
    }

    /// Parses the buffer as a decimal number, or as `nan`, `inf` or `-inf`; nil if it is invalid.
    ///
    /// A decimal number may have an exponent.
    func double() -> Double? {
        if let whole = wholeSeconds() { return whole }
        for place in 0..<count {
            switch start[place] {
            case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"),
                UInt8(ascii: "E"):
                continue
            default:
                switch string {
                case "nan": return .nan
                case "inf": return .infinity
                case "-inf": return -.infinity
                default: return nil
                }
            }
        }
        return Double(string)
    }

    /// Parses a number of up to 15 digits without nonzero decimals, as in most dates; nil for other numbers.
    private func wholeSeconds() -> Double? {
        let mostDigits = 15
        var place = count > 0 && start[0] == UInt8(ascii: "-") ? 1 : 0
        let (first, isNegative) = (place, place == 1)
        var number: Int64 = 0
        while place < count, start[place] &- 0x30 < 10 {
            if place - first == mostDigits { return nil }
            number = number * 10 + Int64(start[place] - 0x30)
            place += 1
        }
        guard place > first else { return nil }
        if place < count {
            guard start[place] == UInt8(ascii: "."), place + 1 < count else { return nil }
            for decimal in place + 1..<count where start[decimal] != 0x30 { return nil }
        }
        return isNegative ? -Double(number) : Double(number)
    }
}
