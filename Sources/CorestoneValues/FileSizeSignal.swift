import Glibc

/// Runs a piece of work that writes files, and has a write beyond the process's limit of file sizes (`ulimit -f`) fail as on a full
/// disk. Else the system's signal for it, SIGXFSZ, ends the process, in the midst of a save.
///
/// The signal is blocked on this thread alone, and meanwhile. What a host does with it stays the host's affair.
package func failingBeyondFileSize<Result>(_ body: () throws -> Result) rethrows -> Result {
    var own = sigset_t()
    sigemptyset(&own)
    sigaddset(&own, SIGXFSZ)
    var former = sigset_t()
    // Where it is blocked already, it is not ours to take.
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
