import Corestone
import Glibc

// A reader that has seen enough (`| head`) is answered by `Output`, quietly.
signal(SIGPIPE, SIG_IGN)
exit(Tool.run(CommandLine.unsafeArgv).rawValue)
