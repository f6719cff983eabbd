import CCorestone
import CPlatform
import CorestoneGraph
import CorestoneValues

@_cdecl("cst_main_queue_bind") @implementation
public func cst_main_queue_bind(_ error: ErrorOut) -> cst_status { boundary(error) { try MainQueue.bind() } }

@_cdecl("cst_main_queue_drain") @implementation
public func cst_main_queue_drain(_ timeout: Int32, _ out: UnsafeMutablePointer<Int>?, _ error: ErrorOut) -> cst_status {
    outcome(error) {
        out?.pointee = 0
        let count = try MainQueue.drain(timeoutMilliseconds: timeout)
        out?.pointee = count
        return count == 0 ? .unchanged : .ok
    }
}

@_cdecl("cst_main_queue_descriptor") @implementation
public func cst_main_queue_descriptor(_ out: UnsafeMutablePointer<Int32>?, _ error: ErrorOut) -> cst_status {
    boundary(error) {
        let out = try required(out, "out_descriptor")
        out.pointee = -1
        out.pointee = try MainQueue.descriptor()
    }
}
