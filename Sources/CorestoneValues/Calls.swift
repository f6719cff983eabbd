import CPlatform

/// Runs `body` as a call of the library, for work outside the exported functions.
///
/// Releases of handles that callbacks request during `body` are deferred until the thread's outermost call ends, which
/// may be this one.
@inlinable
package func withCallScope<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard platform_call_depth() == 0 else { return try body() }
    platform_call_begin()
    defer { if platform_call_end() { platform_call_finish() } }
    return try body()
}
