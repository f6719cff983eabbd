import CCorestone
import CorestoneGraph
import CorestoneModel
import CorestoneValues

@_cdecl("cst_fetch_request_set_columns") @implementation
public func cst_fetch_request_set_columns(
    _ pointer: OpaquePointer?, _ count: Int, _ columns: UnsafePointer<cst_column>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try requestBox(pointer)
        try box.setColumns(columns, count, "columns")
    }
}

extension FetchRequestBox {
    /// Sets the columns of rows, and retains their expressions.
    func setColumns(_ columns: UnsafePointer<cst_column>?, _ count: Int, _ parameter: StaticString) throws {
        var boxes: [ExpressionBox] = []
        let properties = try array(columns, count, parameter).map { column -> FetchedColumn in
            let name = try column.name.string("columns.name")
            guard column.reserved == 0 else {
                throw CoreError(
                    .unsupported, "the field reserved of the column \"\(name)\" is \(column.reserved), but must be 0",
                    entity: request.entityName, key: name, value: .int(Int64(column.reserved)))
            }
            let type = try attributeType(column.type, of: request.entityName, name, column: column.expression != nil)
            guard let pointer = column.expression else { return .property(name) }
            let expression = try expressionBox(pointer)
            boxes.append(expression)
            return .expression(
                ExpressionDescription(name: name, expression: expression.expression, resultType: type))
        }
        request.propertiesToFetch = properties
        self.columns = boxes
    }
}

@_cdecl("cst_fetch_request_set_group_by") @implementation
public func cst_fetch_request_set_group_by(
    _ pointer: OpaquePointer?, _ count: Int, _ names: UnsafePointer<cst_string>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let request = try request(pointer)
        request.propertiesToGroupBy = try strings(names, count, "names")
    }
}

@_cdecl("cst_fetch_request_set_having") @implementation
public func cst_fetch_request_set_having(
    _ pointer: OpaquePointer?, _ predicatePointer: OpaquePointer?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let box = try requestBox(pointer)
        box.having = predicatePointer == nil ? nil : try predicateBox(predicatePointer)
    }
}

@_cdecl("cst_fetch_request_set_distinct") @implementation
public func cst_fetch_request_set_distinct(_ pointer: OpaquePointer?, _ distinct: Bool, _ error: ErrorOut) -> cst_status
{
    boundary(error) { try request(pointer).returnsDistinctResults = distinct }
}
