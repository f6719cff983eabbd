import CPlatform

/// Runs `body` as a call of the library, for work outside the exported functions.
///
/// Releases that callbacks request meanwhile are deferred until `body` returns, or until the outermost call of the
/// thread ends.
@inlinable
package func withCallScope<Result>(_ body: () throws -> Result) rethrows -> Result {
    guard platform_call_depth() == 0 else { return try body() }
    platform_call_begin()
    defer { if platform_call_end() { platform_call_finish() } }
    return try body()
}
