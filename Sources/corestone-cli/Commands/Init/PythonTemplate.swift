/// A project in Python: one program.
struct PythonTemplate: ProjectTemplate {
    let name: String
    private var file: String { "\(name.lowercased()).py" }

    var steps: String { "run it with python3 \(file); edit the model with corestone model" }

    var files: [(name: String, text: String)] { [(file, program)] }

    private var program: String {
        """
        \"""\(name): keeps items in a store.\"""

        from __future__ import annotations

        import functools
        import os
        from datetime import datetime, timezone
        from pathlib import Path

        from corestone import Container, CorestoneError, Model

        MODEL = Path(__file__).resolve().parent / "\(name).xcdatamodeld"


        def store_path() -> Path:
            data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
            folder = data / "\(name)"
            folder.mkdir(parents=True, exist_ok=True)
            return folder / "\(name).sqlite"


        @functools.cache
        def container() -> Container:
            \"""The model, its coordinator and the store, set up when they are first used.\"""
            return Container(Model.load(MODEL), store_path())


        def main() -> None:
            context = container().context()
            context.insert("Item", timestamp=datetime.now(timezone.utc))
            try:
                context.save()
            except CorestoneError as error:
                context.rollback()
                raise SystemExit(f"The item cannot be saved: {error}") from None
            for item in context.fetch("Item", sort=["-timestamp"], limit=10):
                print(item.timestamp.isoformat(timespec="seconds"))
            print(context.count("Item"), "items in", store_path())


        if __name__ == "__main__":
            main()

        """
    }
}
