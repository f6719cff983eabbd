from corestone import Container, Model

model = Model({"Person": {"name": "string", "age": "int = 0"}})
with Container(model, "people.store") as container:
    ctx = container.context()
    ctx.insert("Person", name="Ada", age=36)
    ctx.insert("Person", name="Grace", age=85)
    ctx.save()
    for person in ctx.fetch("Person", "age > %d", 40, sort=["name"]):
        print(person.name, person.age)
