import CPCRE2
import CorestoneValues

/// A compiled pattern of MATCHES, which must match the whole text. Thread-safe.
///
/// `.` matches line breaks, and `^` and `$` match at line breaks too.
package final class RegularExpression: @unchecked Sendable {
    private let code: OpaquePointer
    /// The source of the pattern, for messages.
    private let pattern: Text
    /// The unused match data. Each match removes or creates an entry, and adds it when the match has finished.
    private let spare = Locked<[Spare]>([])

    private struct Spare: @unchecked Sendable { let data: OpaquePointer }

    /// The maximum number of steps of one match.
    ///
    /// The number is enough for any reasonable pattern, and limits a malicious one to some milliseconds.
    private static let matchLimit: UInt32 = 1_000_000
    /// The maximum memory of the interpreter for one match, in KiB.
    private static let heapLimit: UInt32 = 65_536

    /// Compiles a pattern.
    ///
    /// - Throws: `.predicate` if the pattern is invalid or exceeds a limit.
    ///   `.noMemory` if an allocation fails.
    package init(_ pattern: Text, caseInsensitive: Bool) throws {
        guard pattern.count <= RegularExpression.maximumLength else {
            throw CoreError(
                .predicate,
                "the regular expression \(PropertyValue.text(pattern).excerpt) has \(pattern.count) bytes, but the limit is "
                    + "\(RegularExpression.maximumLength); shorten it",
                value: .text(pattern))
        }
        var number: Int32 = 0
        var offset = 0
        var flags = PCRE2_UTF | PCRE2_UCP | UInt32(PCRE2_DOTALL) | UInt32(PCRE2_MULTILINE) | PCRE2_NEVER_BACKSLASH_C
        flags |= PCRE2_ANCHORED | PCRE2_ENDANCHORED
        if caseInsensitive { flags |= UInt32(PCRE2_CASELESS) }
        let portable = try ICUPattern.translated(pattern)
        let compiled = pcre2_compile_8(
            portable.buffer.start, portable.count, flags, &number, &offset, RegularExpression.rules)
        guard let compiled else {
            if number == PCRE2_ERROR_HEAP_FAILED {
                throw CoreError(
                    .noMemory,
                    "out of memory: cannot compile the regular expression \(PropertyValue.text(pattern).excerpt); "
                        + "free some memory",
                    value: .text(pattern))
            }
            // An offset in a translated pattern can differ from the offset in the original, so it is left out.
            let place = portable == pattern ? " at byte \(offset)" : ""
            throw CoreError(
                .predicate,
                "\(PropertyValue.text(pattern).excerpt) cannot be compiled as a regular expression: "
                    + "\(RegularExpression.reason(number))\(place)", value: .text(pattern))
        }
        code = compiled
        self.pattern = pattern
        _ = pcre2_jit_compile_8(compiled, UInt32(PCRE2_JIT_COMPLETE))
    }

    deinit {
        for entry in spare.withLock({ $0 }) { pcre2_match_data_free_8(entry.data) }
        pcre2_code_free_8(code)
    }

    /// Whether the whole text matches. Text that is not UTF-8 does not match.
    ///
    /// - Throws: `.predicate` if the match exceeds the limit on steps or memory.
    ///   `.noMemory` if an allocation fails.
    package func matches(_ text: UnsafeRawBufferPointer) throws -> Bool {
        var status = try withData { run(text, with: $0, options: 0) }
        if status == PCRE2_ERROR_JIT_STACKLIMIT {
            // JIT-compiled code has a small stack. The interpreter uses the heap, which is freed with its match data.
            guard let data = pcre2_match_data_create_8(1, nil) else { throw noMemory }
            defer { pcre2_match_data_free_8(data) }
            status = run(text, with: data, options: UInt32(PCRE2_NO_JIT))
        }
        if status >= 0 { return true }
        switch status {
        case PCRE2_ERROR_NOMATCH: return false
        case PCRE2_ERROR_NOMEMORY: throw noMemory
        case PCRE2_ERROR_HEAPLIMIT:
            throw CoreError(
                .predicate,
                "the regular expression \(PropertyValue.text(pattern).excerpt) exceeds the limit of "
                    + "\(RegularExpression.heapLimit >> 10) MB of memory on a string of \(text.count) bytes. "
                    + "Shorten the string, or write repeated alternatives as a set: [ab]* instead of (a|b)*",
                value: .text(pattern))
        case PCRE2_ERROR_MATCHLIMIT:
            throw CoreError(
                .predicate,
                "the regular expression \(PropertyValue.text(pattern).excerpt) exceeds the limit of "
                    + "\(RegularExpression.matchLimit) steps on a string of \(text.count) bytes. Shorten the "
                    + "string, or avoid nested and repeated unbounded parts such as (a+)+ or .*,.*,.*",
                value: .text(pattern))
        default: return false
        }
    }

    private func run(_ text: UnsafeRawBufferPointer, with data: OpaquePointer, options: UInt32) -> Int32 {
        let empty: UInt8 = 0
        return withUnsafePointer(to: empty) { fallback in
            pcre2_match_8(
                code, text.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? fallback, text.count, 0, options, data,
                RegularExpression.limits)
        }
    }

    private func withData(_ body: (OpaquePointer) -> Int32) throws -> Int32 {
        guard let data = spare.withLock({ $0.popLast() })?.data ?? pcre2_match_data_create_8(1, nil) else {
            throw noMemory
        }
        defer { spare.withLock { $0.append(Spare(data: data)) } }
        return body(data)
    }

    private var noMemory: CoreError {
        CoreError(
            .noMemory,
            "out of memory: cannot match the regular expression \(PropertyValue.text(pattern).excerpt); free some memory",
            value: .text(pattern))
    }

    /// The match limits, which are read-only and shared by all matches.
    private nonisolated(unsafe) static let limits: OpaquePointer? = {
        let context = pcre2_match_context_create_8(nil)
        pcre2_set_match_limit_8(context, matchLimit)
        pcre2_set_heap_limit_8(context, heapLimit)
        return context
    }()

    /// The compilation rules: ICU's line ends and the maximum depth of nested groups.
    private nonisolated(unsafe) static let rules: OpaquePointer? = {
        let context = pcre2_compile_context_create_8(nil)
        pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_ANY))
        pcre2_set_parens_nest_limit_8(context, maximumNesting)
        return context
    }()

    /// The maximum length of a pattern, in bytes.
    private static let maximumLength = 65_536
    /// The maximum depth of nested groups in a pattern.
    private static let maximumNesting: UInt32 = 100

    private static func reason(_ number: Int32) -> String {
        switch number {
        case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP: message(number) + " (more than \(maximumNesting) groups)"
        // The limit of PCRE2, whose compiled patterns have offsets of two bytes.
        case PCRE2_ERROR_PATTERN_TOO_LARGE: message(number) + " (more than 65536 bytes compiled)"
        default: message(number)
        }
    }

    private static func message(_ number: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let length = pcre2_get_error_message_8(number, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(Int(length), 0)), as: UTF8.self)
    }
}

/// A cache of compiled patterns, for right sides that differ between objects.
enum RegularExpressionCache {
    private struct Key: Hashable {
        let pattern: Text
        let caseInsensitive: Bool
    }

    private static let capacity = 64
    private static let compiled = Locked<[Key: RegularExpression]>([:])

    static func expression(_ pattern: Text, caseInsensitive: Bool) throws -> RegularExpression {
        let key = Key(pattern: pattern, caseInsensitive: caseInsensitive)
        if let known = compiled.withLock({ $0[key] }) { return known }
        let expression = try RegularExpression(pattern, caseInsensitive: caseInsensitive)
        // Evicted patterns are released outside the lock.
        let former = compiled.withLock { all -> [Key: RegularExpression] in
            let former = all.count < capacity ? [:] : all
            if !former.isEmpty { all = [:] }
            all[key] = expression
            return former
        }
        withExtendedLifetime(former) {}
        return expression
    }
}
