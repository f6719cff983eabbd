import Corestone
import Glibc

// Notes that are kept whatever ends the program: each line of the input is one, and nothing is saved before the end.
//
// A handler of a signal may call next to nothing, so this one writes a byte into a pipe, which the main loop waits for, between two
// calls of the library. An exit from anywhere else ends in `atexit`. Both close the container, which saves.

nonisolated(unsafe) var container: Container?
nonisolated(unsafe) var wakeup: Int32 = -1

func end() {
    guard let open = container else { return }
    container = nil
    do {
        try open.close(.save)
        say("saved")
    } catch {
        say("\(error)")
        try? open.close(.discard)
        _exit(1)
    }
}

func say(_ line: String) {
    print(line)
    fflush(nil)
}

var ends: [Int32] = [-1, -1]
guard pipe(&ends) == 0 else { exit(1) }
wakeup = ends[1]
for number in [SIGTERM, SIGINT] {
    signal(number) { _ in
        var byte: UInt8 = 1
        _ = write(wakeup, &byte, 1)
    }
}

let model = Model()
let note = try model.addEntity(named: "Note")
try note.addAttribute(named: "body", type: .string, isOptional: false)
let made = try Container(name: "Notes", model: model)
made.storeDescriptions = [StoreDescription(path: CommandLine.arguments.dropFirst().first ?? "notes.store")]
try made.loadStores()
container = made
atexit { end() }

var waiting = [
    pollfd(fd: 0, events: Int16(POLLIN), revents: 0), pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0),
]
var text: [UInt8] = []
var notes = 0
while true {
    // A signal ends the wait, too.
    if poll(&waiting, 2, -1) < 0 && errno != EINTR { exit(1) }
    if waiting[1].revents != 0 { exit(0) }  // `end` saves
    if waiting[0].revents == 0 { continue }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let got = read(0, &bytes, bytes.count)
    if got <= 0 { exit(0) }
    text += bytes[..<got]
    while let newline = text.firstIndex(of: 10) {
        try made.viewContext.insert("Note", ["body": String(decoding: text[..<newline], as: UTF8.self)])
        text.removeSubrange(...newline)
        notes += 1
        say("\(notes) unsaved")
    }
}
