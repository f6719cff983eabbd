/// A project in Python: one program.
struct PythonTemplate: ProjectTemplate {
    let name: String
    /// The interpreter for which the package is installed.
    let interpreter: String
    private var file: String { "\(name.lowercased()).py" }

    var steps: String { "run it with \(interpreter) \(file); edit the model with corestone model" }

    var files: [(name: String, text: String)] { [(file, program)] }

    private var program: String {
        """
        \"""\(name): keeps items in a store.\"""

        from __future__ import annotations

        from datetime import datetime, timezone

        from corestone import Container, CorestoneError


        def main() -> None:
            # The model \(name).xcdatamodeld beside this file; the store \(name).sqlite in the user's data folder.
            with Container("\(name)") as container:
                context = container.view_context
                context.insert("Item", timestamp=datetime.now(timezone.utc))
                try:
                    context.save()
                except CorestoneError as error:
                    raise SystemExit(f"The item cannot be saved: {error}") from None
                for item in context.fetch("Item", sort=["-timestamp"], limit=10):
                    print(item.timestamp.isoformat(timespec="seconds"))
                print(context.count("Item"), "items in", container.store.path)


        if __name__ == "__main__":
            main()

        """
    }
}
