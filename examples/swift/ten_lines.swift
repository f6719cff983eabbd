import Corestone

let model = try Model(text: #"{"Person": {"name": "string", "age": "int = 0"}}"#)
let coordinator = try Coordinator(model: model)
try coordinator.addSQLiteStore(at: "people.store")
let context = Context(coordinator: coordinator)
_ = try context.insert("Person", ["name": "Ada", "age": 36])
_ = try context.insert("Person", ["name": "Grace", "age": 85])
try context.save()
for person in try context.fetch("Person", "age > %d", 40, sort: ["name"]) {
    print(try person.get("name", as: String.self) ?? "", try person.get("age", as: Int.self) ?? 0)
}
