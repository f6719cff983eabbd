import CCorestone
import CorestoneModel
import CorestonePredicate
import CorestoneValues

/// The texts of an entity or a property, with the values of the constants `CST_MODEL_TEXT_`.
private enum ModelText: UInt32 {
    case className = 1, renamingIdentifier, versionHashModifier, pattern, transformerName, derivation, derivationFilter
}

extension ModelText {
    init(checking number: UInt32) throws {
        guard let text = ModelText(rawValue: number) else {
            throw CoreError(
                .invalidArgument, "\(number) is not a text of a model; use a CST_MODEL_TEXT_ constant", key: "which",
                value: .int(Int64(number)))
        }
        self = text
    }

    func read(_ entity: Entity) -> String? {
        switch self {
        case .className: entity.className
        case .renamingIdentifier: entity.renamingIdentifier
        case .versionHashModifier: entity.versionHashModifier
        case .pattern, .transformerName, .derivation, .derivationFilter: nil
        }
    }

    func read(_ property: Property) -> String? {
        let attribute = property as? Attribute
        switch self {
        case .className: return attribute?.valueClassName
        case .renamingIdentifier: return property.renamingIdentifier
        case .versionHashModifier: return property.versionHashModifier
        case .pattern: return attribute?.pattern
        case .transformerName: return attribute?.valueTransformerName
        case .derivation: return attribute?.derivation?.expression.text
        case .derivationFilter: return attribute?.derivation?.filter?.text
        }
    }
}

extension Entity {
    /// Returns a property, which may be inherited, or an element of a composite attribute by its path.
    fileprivate func property(at path: String) -> Property? {
        if let property = anyProperty(named: path) { return property }
        var parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1 else { return nil }
        var found = anyProperty(named: parts.removeFirst()) as? Attribute
        for part in parts { found = found?.elements.first { $0.name == part } }
        return found
    }
}

@_cdecl("cst_entity_copy_text") @implementation
public func cst_entity_copy_text(
    _ pointer: OpaquePointer?, _ property: cst_string, _ which: UInt32, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_text")
        let entity = try entity(pointer)
        let which = try ModelText(checking: which)
        let text: String?
        if let path = try property.optionalString("property") {
            text = entity.property(at: path).flatMap { which.read($0) }
        } else {
            text = which.read(entity)
        }
        guard let text else { return .notFound }
        try out.fill(text)
        return .ok
    }
}

@_cdecl("cst_entity_copy_validation") @implementation
public func cst_entity_copy_validation(
    _ pointer: OpaquePointer?, _ property: cst_string, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ outWarning: UnsafeMutablePointer<cst_buffer>?, _ outCode: UnsafeMutablePointer<Int64>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_predicate")
        let entity = try entity(pointer)
        guard let property = entity.property(at: try property.string("property")) else { return .notFound }
        let rules = property.validationRules
        guard rules.indices.contains(index) else { return .end }
        var (warning, code) = ("", Int64(0))
        switch rules[index].warning {
        case .text(let text): warning = text
        case .code(let number): code = number
        }
        try outWarning?.fill(warning)
        outCode?.pointee = code
        let predicate: Predicate
        do { predicate = try rules[index].predicate.required() } catch let error as CoreError {
            throw error.with(entity: entity.name, key: property.path)
        }
        out.pointee = try PredicateBox(predicate, models: []).makeHandle()
        return .ok
    }
}

@_cdecl("cst_entity_copy_index") @implementation
public func cst_entity_copy_index(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ outCount: UnsafeMutablePointer<Int>?, _ outPredicate: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        outPredicate?.pointee = nil
        let out = try required(out, "out_name")
        let indexes = try entity(pointer).indexes
        guard indexes.indices.contains(index) else { return .end }
        try out.fill(indexes[index].name)
        outCount?.pointee = indexes[index].elements.count
        if let outPredicate, let condition = indexes[index].partialPredicate {
            outPredicate.pointee = try PredicateBox(try condition.required(), models: []).makeHandle()
        }
        return .ok
    }
}

@_cdecl("cst_entity_copy_index_element") @implementation
public func cst_entity_copy_index_element(
    _ pointer: OpaquePointer?, _ index: Int, _ element: Int, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ outIsExpression: UnsafeMutablePointer<Bool>?, _ outFlags: UnsafeMutablePointer<UInt32>?,
    _ outType: UnsafeMutablePointer<Int32>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_text")
        let indexes = try entity(pointer).indexes
        guard indexes.indices.contains(index), indexes[index].elements.indices.contains(element) else { return .end }
        let found = indexes[index].elements[element]
        try out.fill(found.expression?.text ?? found.property)
        outIsExpression?.pointee = found.expression != nil
        var flags = found.isAscending ? 0 : CST_INDEX_DESCENDING
        if found.collation == .rTree { flags |= CST_INDEX_RTREE }
        outFlags?.pointee = UInt32(flags)
        outType?.pointee = found.expressionType.rawValue
        return .ok
    }
}

@_cdecl("cst_entity_copy_unique_constraint") @implementation
public func cst_entity_copy_unique_constraint(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<cst_buffer>?,
    _ count: UnsafeMutablePointer<Int>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let constraints = try entity(pointer).uniqueConstraints
        guard constraints.indices.contains(index) else {
            _ = try required(out, "out_names")
            return .end
        }
        try list(constraints[index], out, count)
        return .ok
    }
}

@_cdecl("cst_attribute_element_at") @implementation
public func cst_attribute_element_at(
    _ pointer: OpaquePointer?, _ index: Int, _ out: UnsafeMutablePointer<OpaquePointer?>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try place(out, "out_element")
        let elements = try attribute(pointer).elements
        guard elements.indices.contains(index) else { return .end }
        out.pointee = try borrowedHandle(elements[index])
        return .ok
    }
}

@_cdecl("cst_attribute_get_info") @implementation
public func cst_attribute_get_info(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_property_info>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let out = try sized(out, "out_info")
        let attribute = try attribute(pointer)
        out.fill(try propertyInfo(attribute, isFrozen: attribute.entity.model.isFrozen))
    }
}

@_cdecl("cst_attribute_copy_default") @implementation
public func cst_attribute_copy_default(
    _ pointer: OpaquePointer?, _ out: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    outcome(error) {
        let out = try required(out, "out_value")
        putNull(out)
        let value = try attribute(pointer).defaultValue
        if value.isNull { return .notFound }
        try putOwned(value, out)
        return .ok
    }
}

@_cdecl("cst_attribute_copy_bounds") @implementation
public func cst_attribute_copy_bounds(
    _ pointer: OpaquePointer?, _ outLeast: UnsafeMutablePointer<cst_value>?,
    _ outGreatest: UnsafeMutablePointer<cst_value>?, _ error: ErrorOut
) -> cst_status {
    boundary(error) {
        let least = try required(outLeast, "out_least")
        putNull(least)
        let greatest = try required(outGreatest, "out_greatest")
        putNull(greatest)
        let bounds = try attribute(pointer).bounds
        // The bounds of attributes are numbers and dates, which do not own memory.
        try putOwned(bounds.least ?? .null, least)
        try putOwned(bounds.greatest ?? .null, greatest)
    }
}
