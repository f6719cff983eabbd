import Corestone
import Glibc

/// A progress bar on standard error. Unless it is forced, the bar is shown only on a terminal.
///
/// It is first drawn after half a second, then at most ten times a second, and removed at the end.
final class ProgressBar {
    /// The unit of the count: bytes, or named things.
    enum Unit {
        case bytes
        case things(String)

        fileprivate func text(_ count: Int) -> String {
            switch self {
            case .things(let name): return "\(ProgressBar.grouped(count)) \(name)"
            case .bytes:
                var (value, place) = (Double(count), 0)
                let names = ["B", "KB", "MB", "GB", "TB"]
                while value >= 1000, place < names.count - 1 { (value, place) = (value / 1000, place + 1) }
                let tenths = Int((value * 10).rounded())
                return place == 0 ? "\(count) B" : "\(tenths / 10).\(tenths % 10) \(names[place])"
            }
        }
    }

    private let title: String
    private let unit: Unit
    private let isShown: Bool
    private let usesBlocks: Bool
    private let start = ProgressBar.now
    private var last = 0.0
    private var isDrawn = false

    private static let interval = 0.1
    private static let delay = 0.5

    /// Creates a progress bar.
    ///
    /// - Parameter isForced: Whether it is drawn even if standard error is not a terminal.
    init(_ title: String, _ unit: Unit, isForced: Bool = false) {
        (self.title, self.unit) = (title, unit)
        let terminal = getenv("TERM").map { String(cString: $0) }
        isShown = isForced || isatty(STDERR_FILENO) == 1 && terminal != "dumb"
        let settings: [String] = ["LC_ALL", "LC_CTYPE", "LANG"]
        let locale = settings.compactMap { name in getenv(name).map { String(cString: $0) } }.first { !$0.isEmpty }
        usesBlocks = locale.map { $0.uppercased().hasSuffix("UTF-8") || $0.uppercased().hasSuffix("UTF8") } ?? false
    }

    deinit { end() }

    /// Updates the bar.
    ///
    /// - Parameter total: The total; 0 if it is unknown.
    func show(_ done: Int, of total: Int) {
        guard isShown else { return }
        let now = ProgressBar.now
        guard now - start >= ProgressBar.delay, now - last >= ProgressBar.interval else { return }
        last = now
        draw(done, total, seconds: now - start)
    }

    /// Removes the bar.
    func end() {
        guard isDrawn else { return }
        isDrawn = false
        Messages.redraw("")
    }

    private func draw(_ done: Int, _ total: Int, seconds: Double) {
        let width = ProgressBar.columns - 1
        var words = unit.text(done)
        var bar = ""
        if total > 0 {
            let part = min(1, max(0, Double(done) / Double(total)))
            if case .things = unit { words = ProgressBar.grouped(done) }
            words += " of \(unit.text(total))"
            if part > 0, part < 1 { words += ", \(ProgressBar.duration(seconds * (1 - part) / part)) left" }
            let percent = "\(Int(part * 100))"
            let room = min(30, width - DisplayWidth.of(title) - DisplayWidth.of(words) - 9)
            if room >= 5 {
                let full = Int(part * Double(room))
                let (mark, rest) = usesBlocks ? ("█", "░") : ("#", ".")
                bar = String(repeating: mark, count: full) + String(repeating: rest, count: room - full) + " "
            }
            bar += String(repeating: " ", count: 3 - percent.count) + percent + " % "
        } else {
            words += ", \(ProgressBar.duration(seconds))"
        }
        Messages.redraw(DisplayWidth.cut("\(title) \(bar)\(words)", to: max(width, 10)))
        isDrawn = true
    }

    private static var columns: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func duration(_ seconds: Double) -> String {
        let whole = Int(seconds.rounded(.up))
        return whole < 60
            ? "\(whole) s"
            : whole < 3600 ? "\(whole / 60) min \(whole % 60) s" : "\(whole / 3600) h \(whole / 60 % 60) min"
    }

    /// Returns the number with commas between thousands.
    static func grouped(_ number: Int) -> String {
        var (text, count) = ("", 0)
        for digit in String(number).reversed() {
            if count > 0, count % 3 == 0, digit != "-" { text = "," + text }
            text = String(digit) + text
            count += 1
        }
        return text
    }
}
