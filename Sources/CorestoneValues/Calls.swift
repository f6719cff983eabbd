import CPlatform

/// Runs `body` as a call of the library's that no export counts: what the host's callbacks give up meanwhile ends with it.
///
/// A call within another one, or on a thread that is in the midst of one, adds nothing.
@inlinable
package func asCall<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard platform_call_depth() == 0 else { return try body() }
    platform_call_begin()
    defer { if platform_call_end() { platform_call_finish() } }
    return try body()
}
