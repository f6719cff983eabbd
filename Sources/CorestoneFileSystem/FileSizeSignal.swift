import Glibc

/// Runs `body`, in which a write beyond the process's file size limit fails with an error.
///
/// By default, such a write ends the process with the signal SIGXFSZ. The limit is that of `ulimit -f`.
///
/// The signal is blocked only on this thread and only during the call. The application's own handling of the signal
/// does not change.
package func failingBeyondFileSize<Result>(_ body: () throws -> Result) rethrows -> Result {
    var own = sigset_t()
    sigemptyset(&own)
    sigaddset(&own, SIGXFSZ)
    var former = sigset_t()
    // If the signal is already blocked, such a write fails anyway, and the signal is left to the application.
    guard pthread_sigmask(SIG_BLOCK, &own, &former) == 0, sigismember(&former, SIGXFSZ) == 0 else { return try body() }
    defer {
        let number = errno
        var now = timespec()
        while sigtimedwait(&own, nil, &now) == SIGXFSZ {}
        pthread_sigmask(SIG_UNBLOCK, &own, nil)
        errno = number
    }
    return try body()
}
