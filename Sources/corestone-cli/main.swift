import Corestone
import Glibc

// If a reader such as `head` closes the pipe, `Output` ends the tool without an error.
signal(SIGPIPE, SIG_IGN)
exit(Tool.run(CommandLine.unsafeArgv).rawValue)
