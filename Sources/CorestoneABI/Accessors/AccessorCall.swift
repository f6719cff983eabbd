import CCorestone
import CorestoneGraph
import CorestoneValues

/// A call of a function that libffi created: its arguments, with the object first, and the memory of its result.
struct AccessorCall {
    let key: UInt32
    let result: UnsafeMutableRawPointer
    let arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    let error: ErrorOut

    /// Returns the argument at an index; 0 is the object.
    private func argument<Value>(_ place: Int, as: Value.Type = Value.self) -> Value {
        arguments[place].unsafelyUnwrapped.loadUnaligned(as: Value.self)
    }
    private var object: OpaquePointer? { argument(0) }

    /// Writes an integer result as a whole word, as libffi requires for smaller results.
    private func putResult(_ integer: some BinaryInteger) { result.storeBytes(of: Int64(integer), as: Int64.self) }
    private func putResult(_ pointer: UnsafeMutableRawPointer?) { putResult(Int(bitPattern: pointer)) }
}

// MARK: - Attributes and to-one relationships

extension AccessorCall {
    func perform(_ kind: AccessorKind, _ result: AccessorType, _ argument: AccessorType) {
        switch kind {
        case .isNull:
            // The result is true after a failure too. The error distinguishes a failure from null.
            putResult(read(object, key, error).type == .null ? 1 : 0)
        case .setNull:
            var null = cst_value()
            putResult(cst_object_set(object, key, &null, error))
        case .set: set(argument) { try $0.set($1, key: key) }
        case .setPrimitive: set(argument) { try $0.setPrimitive($1, key: key) }
        default: get(result)
        }
    }

    private func get(_ type: AccessorType) {
        let view = read(object, key, error)
        switch type {
        case .float: result.storeBytes(of: Float(view.checkedReal(error)), as: Float.self)
        case .double, .date: result.storeBytes(of: view.checkedReal(error), as: Double.self)
        case .text, .bytes:
            let run = view.checkedRun(error)
            putWords(UInt64(UInt(bitPattern: run.data)), UInt64(run.size))
        case .uuid: putWords(view.type == .uuid ? view.low : 0, view.type == .uuid ? view.high : 0)
        case .value: put(view, result.assumingMemoryBound(to: cst_value.self))
        case .pointer: putResult(view.checkedPointer(error))
        default: putResult(view.checkedInteger(error))
        }
    }

    private func putWords(_ first: UInt64, _ second: UInt64) {
        result.storeBytes(of: first, as: UInt64.self)
        result.storeBytes(of: second, toByteOffset: 8, as: UInt64.self)
    }

    private func set(_ type: AccessorType, _ body: (ManagedObject, PropertyValue) throws -> Void) {
        putResult(
            boundary(error) {
                let target = try CorestoneABI.object(object)
                try body(target, try target.given(newValue(type), key: key))
            })
    }

    /// Returns the second argument as a value.
    private func newValue(_ type: AccessorType) -> cst_value {
        var value = cst_value()
        switch type {
        case .bool:
            value.type = UInt32(CST_BOOL)
            value.as.boolean = argument(1, as: UInt8.self) != 0
        case .int16: setInteger(Int64(argument(1, as: Int16.self)), &value)
        case .int32: setInteger(Int64(argument(1, as: Int32.self)), &value)
        case .int64: setInteger(argument(1), &value)
        case .float: setReal(Double(argument(1, as: Float.self)), &value)
        case .double: setReal(argument(1), &value)
        case .date:
            value.type = UInt32(CST_DATE)
            value.as.date = argument(1)
        case .text: value = cst_value(text: argument(1))
        case .bytes: value = cst_value(bytes: argument(1))
        case .uuid:
            value.type = UInt32(CST_UUID)
            value.as.uuid = argument(1)
        case .pointer: value = cst_value(target: argument(1))
        default: value = argument(1)
        }
        return value
    }

    private func setInteger(_ integer: Int64, _ value: inout cst_value) {
        value.type = UInt32(CST_INT)
        value.as.integer = integer
    }

    private func setReal(_ real: Double, _ value: inout cst_value) {
        value.type = UInt32(CST_DOUBLE)
        value.as.real = real
    }
}

// MARK: - To-many relationships

extension AccessorCall {
    func performOnMembers(_ kind: AccessorKind) {
        switch kind {
        case .get:
            var members: OpaquePointer?
            _ = cst_object_copy_members(object, key, &members, error)
            putResult(UnsafeMutableRawPointer(members))
        case .set: putResult(cst_object_set_members(object, key, argument(1), argument(2), error))
        case .count:
            var count = 0
            _ = cst_object_member_count(object, key, &count, error)
            putResult(count)
        case .contains:
            var isMember = false
            _ = cst_object_has_member(object, key, argument(1), &isMember, error)
            putResult(isMember ? 1 : 0)
        case .add: putResult(cst_object_add_member(object, key, argument(1), error))
        case .remove: putResult(cst_object_remove_member(object, key, argument(1), error))
        case .addMany: putResult(cst_object_add_members(object, key, argument(1), argument(2), error))
        case .removeMany:
            change {
                for member in try managedObjects(argument(2), argument(1), "members") {
                    try $0.removeMember(member, key: key)
                }
            }
        default: performAtIndex(kind)
        }
    }

    private func performAtIndex(_ kind: AccessorKind) {
        switch kind {
        case .memberAt:
            var member: OpaquePointer?
            _ = boundary(error) {
                member = try ownedHandle(try CorestoneABI.object(object).member(at: argument(1), key: key))
            }
            putResult(UnsafeMutableRawPointer(member))
        case .insertAt: putResult(cst_object_insert_member(object, key, argument(1), argument(2), error))
        case .removeAt: change { try $0.removeMember(at: argument(1), key: key) }
        case .replaceAt:
            change { try $0.replaceMember(at: argument(1), with: try CorestoneABI.argument(argument(2)), key: key) }
        default: change { try $0.moveMember(from: argument(1), to: argument(2), key: key) }
        }
    }

    private func change(_ body: (ManagedObject) throws -> Void) {
        putResult(boundary(error) { try body(try CorestoneABI.object(object)) })
    }
}
