import Corestone
import Glibc

/// The tool's commands are added as the library grows; it already tells which library it was built with.
let usage = """
    usage: corestone --version | --help

    Core Data stores from the command line. This version has no commands that open a store yet;
    the C, Python and Swift interfaces do.

    exit codes: 0 done, 64 wrong usage
    """

switch Array(CommandLine.arguments.dropFirst()) {
case ["--version"]: print("corestone \(corestoneVersion)")
case ["--help"], ["-h"]: print(usage)
default:
    let text = usage + "\n"
    _ = text.withCString { write(STDERR_FILENO, $0, text.utf8.count) }
    exit(64)
}
