import Corestone
import Glibc

let model = try Model(
    text: """
        {"Department": {"name": "string"},
         "Employee": {"name": "string", "age": "int32?"}}
        """)

// A container, with its store in the working folder instead of the program's data folder.
let company = try Container(name: "Company", model: model)
company.storeDescriptions = [StoreDescription(path: "company/staff.sqlite")]
try company.loadStores()
let count = try await company.performBackgroundTask { context in
    try context.insert("Employee", ["name": "Eve", "age": 33])
    try context.save()
    return try context.count("Employee")
}
print(count, "employee")

// Closing: the error counts the unsaved changes, then they are saved.
let background = company.newBackgroundContext()
try await background.perform { _ = try $0.insert("Employee", ["name": "Fay", "age": 19]) }
do { try company.close() } catch { print("refused:", error) }
try company.close(.save)

// Records: rows as dictionaries, each call a transaction.
let shop = try Container(name: "Shop", model: model)
shop.storeDescriptions = [StoreDescription(path: "company/staff.sqlite")]
try shop.loadStores()
try shop.insert("Employee", [["name": "Bob", "age": "41"]])
for record in try shop.read("Employee", sort: ["-age"], limit: 10) {
    print(record["name"] ?? .null, record["age"] ?? .null)
}
try shop.close()

// A document: undo, autosave, another path.
let plan = try Document(model: model)
try plan.saveAs("plan.store")
try plan.setAutosave(afterChanges: 100, idleSeconds: 5)
try await plan.context.perform { _ = try $0.insert("Department", ["name": "Garden"]) }
try await plan.context.perform { _ in _ = try plan.undoManager.undo() }
print("unsaved:", try plan.hasUnsavedChanges())
try await plan.context.perform { _ in _ = try plan.undoManager.redo() }
try plan.save()
try plan.saveAs("plan.xml", type: .xml)
try plan.close()
