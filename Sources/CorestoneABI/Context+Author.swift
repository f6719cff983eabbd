import CCorestone
import CorestoneGraph

@_cdecl("cst_context_set_name") @implementation
public func cst_context_set_name(_ pointer: OpaquePointer?, _ name: cst_string, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let context = try contextBox(pointer).context
        try context.checkQueue()
        context.name = try name.optionalString("name")
    }
}

@_cdecl("cst_context_set_transaction_author") @implementation
public func cst_context_set_transaction_author(
    _ pointer: OpaquePointer?, _ author: cst_string, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let context = try contextBox(pointer).context
        try context.checkQueue()
        context.transactionAuthor = try author.optionalString("author")
    }
}
