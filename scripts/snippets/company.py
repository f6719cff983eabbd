"""The start of each program of Python examples from docs/: check_snippets.py appends the examples of a page."""

from corestone import Container, Model

model = Model(
    {
        "Employee": {
            "name": "string",
            "age": "int32?",
            "salary": "double?",
            "hired": "date?",
            "badge": "uuid?",
            "department": "to-one Department? inverse employees",
        },
        "Department": {
            "name": "string",
            "budget": "decimal?",
            "employees": "to-many Employee? inverse department",
        },
    }
)
container = Container(model, "company.sqlite")
context = container.context()
research = context.insert("Department", name="Research")
ada = context.insert("Employee", name="Ada", age=36, salary=6500.0, department=research)
grace = context.insert("Employee", name="Grace", age=45, salary=8000.0, department=research)
context.save()
