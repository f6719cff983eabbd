extension CommandGroup {
    static let model = CommandGroup(
        name: "model", summary: "look at models, compare, convert and edit them",
        commands: [DiagramCommand.self],
        examples: [
            "corestone model diagram Notes.xcdatamodeld -o Notes.svg"
        ])
}
