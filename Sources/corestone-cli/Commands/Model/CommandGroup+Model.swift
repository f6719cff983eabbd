extension CommandGroup {
    static let model = CommandGroup(
        name: "model", summary: "show, compare, convert and edit models",
        commands: [
            ModelShowCommand.self, LintCommand.self, DiffCommand.self, CheckMigrationCommand.self, FreezeCommand.self,
            CompileCommand.self, DecompileCommand.self,
            MergeCommand.self, DiagramCommand.self,
            CodegenCommand.self, NewCommand.self, AddCommand.self, SetCommand.self, RenameCommand.self,
            RemoveCommand.self,
        ],
        examples: [
            "corestone model show Notes.xcdatamodeld --hashes",
            "corestone model lint Notes.xcdatamodeld",
            "corestone model diff Notes.xcdatamodeld --from \"Notes 1\"",
            "corestone model check-migration Notes.xcdatamodeld",
            "corestone model compile Notes.xcdatamodeld",
            "corestone model diagram Notes.xcdatamodeld -o Notes.svg",
            "corestone model codegen Notes.xcdatamodeld --language python -o notes",
            "corestone model new Notes.xcdatamodeld",
            "corestone model add Notes.xcdatamodeld entity Note",
            "corestone model add Notes.xcdatamodeld attribute Note.title String optional=NO",
        ])
}
