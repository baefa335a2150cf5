// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/draft.h"

#include "core/ops/evaluate.h"
#include "core/ops/evaluate_stored.h"
#include "core/ops/op_schema.h"
#include "core/ops/op_table.h"
#include "core/rewrite/custom_body.h"

#include <algorithm>

namespace fuselage {

namespace {

std::optional<std::vector<int64_t>> integersOf(const Quantity& value) {
    std::optional<Quantity::List> items = value.items();
    if (!items) {
        std::optional<int64_t> whole = value.integerValue();
        return whole ? std::optional(std::vector{*whole}) : std::nullopt;
    }
    std::vector<int64_t> out;
    for (const Quantity& item : *items) {
        std::optional<int64_t> whole = item.integerValue();
        if (!whole)
            return std::nullopt;
        out.push_back(*whole);
    }
    return out;
}

std::optional<AttributeValue> convert(const std::string& type, const Quantity& value) {
    if (type == "int") {
        if (const std::string* name = value.as<std::string>()) // an element type, as `to` takes
            if (std::optional<DType> dtype = dtypeFromName(*name))
                return AttributeValue(onnxNumber(*dtype));
        std::optional<int64_t> whole = value.integerValue();
        return whole ? std::optional<AttributeValue>(*whole) : std::nullopt;
    }
    if (type == "float") {
        std::optional<double> number = value.number();
        return number ? std::optional<AttributeValue>(*number) : std::nullopt;
    }
    if (type == "string") {
        const std::string* text = value.as<std::string>();
        return text ? std::optional<AttributeValue>(*text) : std::nullopt;
    }
    if (type == "ints") {
        std::optional<std::vector<int64_t>> integers = integersOf(value);
        return integers ? std::optional<AttributeValue>(*integers) : std::nullopt;
    }
    if (type == "floats") {
        std::vector<double> numbers;
        for (const Quantity& item : value.items().value_or(Quantity::List{})) {
            std::optional<double> number = item.number();
            if (!number)
                return std::nullopt;
            numbers.push_back(*number);
        }
        return AttributeValue(std::move(numbers));
    }
    const TensorPtr* tensor = value.as<TensorPtr>();
    return type == "tensor" && tensor ? std::optional<AttributeValue>(*tensor) : std::nullopt;
}

/// The type of an attribute whose operator does not say it.
std::string attributeTypeOf(const Quantity& value) {
    if (value.as<std::string>())
        return "string";
    if (value.as<TensorPtr>())
        return "tensor";
    if (const auto* list = value.as<Quantity::List>()) {
        const auto isText = [](const Quantity& item) { return item.as<std::string>() != nullptr; };
        const auto isInteger = [](const Quantity& item) {
            const Number* number = item.as<Number>(); // 2.0 was written as a float
            return number ? number->isInteger : item.integerValue().has_value();
        };
        if (!list->empty() && std::all_of(list->begin(), list->end(), isText))
            return "strings";
        return std::all_of(list->begin(), list->end(), isInteger) ? "ints" : "floats";
    }
    const Number* number = value.as<Number>();
    return number && !number->isInteger ? "float" : "int";
}

DType elementTypeOf(const Graph& graph, const Quantity::List& operands) {
    for (const Quantity& operand : operands) {
        if (const ValueId* id = operand.as<ValueId>())
            return graph.value(*id).type.dtype;
        if (const TensorPtr* tensor = operand.as<TensorPtr>())
            return (*tensor)->dtype();
    }
    return DType::Undefined;
}

bool holdsTensors(const Quantity::List& list) {
    return std::any_of(list.begin(), list.end(), [](const Quantity& item) {
        return item.as<ValueId>() || item.as<TensorPtr>();
    });
}

/// Operands of whole numbers that ONNX has as lists, also of one.
bool takesAList(const std::string& operand) {
    constexpr std::string_view lists[] = {"axes",    "K",     "ends",        "pads",
                                          "repeats", "shape", "sizes",       "split",
                                          "starts",  "steps", "output_shape"};
    return std::find(std::begin(lists), std::end(lists), operand) != std::end(lists);
}

} // namespace

Result<Attributes> customAttributes(const Graph& graph, const CustomOperator& custom,
                                    const NamedQuantities& given) {
    Attributes out;
    for (const auto& [name, written] : given) {
        if (written.isNone())
            continue;
        const ValueId* id = written.as<ValueId>();
        const Quantity value = id ? contentsOf(graph, *id) : written;
        const AttributeSchema* schema = custom.attribute(name);
        if (custom.isKnown && !schema)
            return failure("rewrite.attribute", custom.text() + " has no attribute `" + name + "`");
        std::optional<AttributeValue> converted =
            value.isUnknown() ? std::nullopt
                              : convert(schema ? schema->type : attributeTypeOf(value), value);
        if (!converted)
            return failure("rewrite.attribute",
                           "attribute `" + name + "` cannot be " + value.text());
        out.set(name, std::move(*converted));
    }
    return out;
}

Draft::Draft(const Graph& matched, InferenceFunction infer)
    : m_matched(matched), m_graph("draft"), m_infer(std::move(infer)) {
    m_graph.opsetImports = matched.opsetImports;
}

Quantity Draft::fail(std::string why) {
    if (m_problem.empty())
        m_problem = why;
    return Quantity::unknown(std::move(why));
}

ValueId Draft::import(ValueId matched) {
    auto [entry, isNew] = m_imports.try_emplace(matched);
    if (!isNew)
        return entry->second;
    const Value& value = m_matched.value(matched);
    ValueId id = value.constant ? m_graph.addConstant(value.name, value.constant)
                                : m_graph.addInput(value.name, value.type);
    m_graph.setSymbolicContents(id, value.symbolicContents);
    entry->second = id;
    m_origins[id] = matched;
    return id;
}

ValueId Draft::imported(ValueId drafted) const {
    auto found = m_origins.find(drafted);
    return found == m_origins.end() ? ValueId() : found->second;
}

ValueId Draft::valueOf(const Quantity& quantity, DType like) {
    if (const ValueId* id = quantity.as<ValueId>())
        return *id;
    if (const TensorPtr* tensor = quantity.as<TensorPtr>())
        return m_graph.addConstant("constant", *tensor);
    if (std::optional<double> number = quantity.number()) {
        const Number* exact = quantity.as<Number>();
        DType plain = exact && exact->isInteger ? DType::Int64 : DType::Float32;
        auto tensor = std::make_shared<Tensor>(like == DType::Undefined ? plain : like, Extents{});
        tensor->set(0, *number);
        return m_graph.addConstant("constant", std::move(tensor));
    }
    if (std::optional<std::vector<int64_t>> integers = integersOf(quantity))
        return m_graph.addConstant("constant", std::make_shared<Tensor>(Tensor::ofInts(*integers)));
    return {};
}

ValueId Draft::operandOf(const NodeSpec& spec, const Quantity& quantity, DType like) {
    const size_t position = spec.inputs.size();
    const std::optional<int64_t> whole = quantity.integerValue();
    if (!whole || quantity.as<ValueId>() || quantity.as<TensorPtr>() ||
        inputTypesOf(spec.op, position).allows(like == DType::Undefined ? DType::Int64 : like))
        return valueOf(quantity, like);
    const std::vector<std::string>& names = inputNamesOf(spec.op);
    if (position < names.size() && takesAList(names[position]))
        return valueOf(Quantity::list({quantity}), DType::Int64);
    return valueOf(quantity, DType::Int64);
}

bool Draft::addOperands(NodeSpec& spec, const Quantity::List& operands) {
    // The first operand of Where is a condition.
    const bool chooses = spec.op == Op::Where && operands.size() > 1;
    DType like = elementTypeOf(
        m_graph, chooses ? Quantity::List(operands.begin() + 1, operands.end()) : operands);
    for (const Quantity& operand : operands) {
        if (operand.isNone()) {
            spec.inputs.emplace_back();
            continue;
        }
        if (operand.isUnknown())
            return fail(operand.as<Quantity::Unknown>()->why), false;
        if (const auto* list = operand.as<Quantity::List>(); list && holdsTensors(*list)) {
            for (const Quantity& item : *list)
                spec.inputs.push_back(valueOf(item, like));
            continue;
        }
        Quantity value = operand;
        if (const auto* list = operand.as<Quantity::List>(); list && spec.op == Op::Reshape) {
            // One symbolic dimension of a target shape is what -1 stands for.
            Quantity::List dims = *list;
            auto symbolic = std::find_if(dims.begin(), dims.end(),
                                         [](const Quantity& dim) { return !dim.integerValue(); });
            if (symbolic != dims.end() && !symbolic->isNone())
                *symbolic = Quantity::integer(-1);
            value = Quantity::list(std::move(dims));
        }
        ValueId id = operandOf(spec, value, like);
        if (!id.valid())
            return fail("operand " + value.text() + " is no tensor"), false;
        spec.inputs.push_back(id);
    }
    while (!spec.inputs.empty() && !spec.inputs.back().valid())
        spec.inputs.pop_back();
    return true;
}

bool Draft::addAttributes(NodeSpec& spec, const NamedQuantities& attributes) {
    const std::vector<AttributeSchema>& schemas = attributesOf(spec.op);
    const std::vector<std::string>& inputs = inputNamesOf(spec.op);
    for (const auto& attribute : attributes) {
        const std::string& name = attribute.first;
        const Quantity& given = attribute.second;
        if (given.isNone())
            continue;
        const ValueId* id = given.as<ValueId>();
        Quantity value = id ? contentsOf(m_graph, *id) : given;
        auto schema = std::find_if(schemas.begin(), schemas.end(),
                                   [&](const AttributeSchema& s) { return s.name == name; });
        if (schema != schemas.end()) {
            std::optional<AttributeValue> converted = convert(schema->type, value);
            if (!converted)
                return fail("attribute `" + name + "` cannot be " + value.text()), false;
            spec.attributes.set(name, std::move(*converted));
            continue;
        }
        // Where the operator takes the parameter as an input: axes, shape, sizes.
        auto input = std::find(inputs.begin(), inputs.end(), name);
        ValueId operand = input == inputs.end() ? ValueId() : valueOf(given, DType::Undefined);
        if (!operand.valid())
            return fail(std::string(nameOf(spec.op)) + " has no attribute `" + name + "`"), false;
        auto position = static_cast<size_t>(input - inputs.begin());
        spec.inputs.resize(std::max(spec.inputs.size(), position + 1));
        spec.inputs[position] = operand;
    }
    return true;
}

void Draft::infer() {
    if (!m_infer)
        return;
    for (const InferProblem& problem : m_infer(m_graph))
        fail(problem.message);
}

/// The same bytes under another shape: large weights are not copied.
bool Draft::foldView(NodeId id) {
    infer();
    const Node& node = m_graph.node(id);
    const Tensor& operand = *m_graph.value(node.inputs[0]).constant;
    std::optional<Extents> extents = m_graph.value(node.outputs[0]).type.extents();
    if (!extents || node.outputs.size() != 1 || operand.dtype() == DType::String ||
        elementCount(*extents) != operand.elementCount())
        return false;
    m_graph.makeConstant(node.outputs[0], std::make_shared<Tensor>(operand.reshaped(*extents)));
    m_graph.removeNode(id);
    return true;
}

bool Draft::fold(NodeId id) {
    const Node& node = m_graph.node(id);
    bool constant = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
        return !input.valid() || m_graph.isConstant(input);
    });
    if (!constant || node.inputs.empty() || !canEvaluate(node.op) || keepsStored(node.op) ||
        hasTrait(node.op, Nondeterministic | ControlFlow))
        return false;
    if (hasTrait(node.op, View) && foldView(id))
        return true;
    std::vector<StoredOperand> operands;
    for (ValueId input : node.inputs)
        operands.emplace_back(input.valid() ? m_graph.value(input).constant : nullptr);
    ThreadPool alone(1);
    const auto results = evaluateStored(node, operands, alone);
    if (!results) {
        fail(results.error().text());
        return false;
    }
    if (std::count(results->begin(), results->end(), nullptr) > 0)
        return false;
    const std::vector<ValueId> outputs = node.outputs;
    for (size_t i = 0; i < outputs.size() && i < results->size(); ++i)
        m_graph.makeConstant(outputs[i], (*results)[i]);
    m_graph.removeNode(id);
    return true;
}

Quantity Draft::node(Op op, const Quantity::List& operands, const NamedQuantities& attributes,
                     size_t outputs) {
    NodeSpec spec;
    spec.op = op;
    if (!addOperands(spec, operands) || !addAttributes(spec, attributes))
        return Quantity::unknown(m_problem);
    for (size_t i = 0; i < static_cast<size_t>(rowOf(op).minInputs); ++i)
        if (i >= spec.inputs.size() || !spec.inputs[i].valid())
            return fail(std::string(nameOf(op)) + " needs its operand " + std::to_string(i + 1) +
                        ", which is none here");
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
        const DType type =
            spec.inputs[i].valid() ? m_graph.value(spec.inputs[i]).type.dtype : DType::Undefined;
        if (type != DType::Undefined && !inputTypesOf(op, i).allows(type))
            return fail(std::string(nameOf(op)) + " takes no " + nameOf(type) + " as operand " +
                        std::to_string(i + 1));
    }
    spec.outputs.assign(outputs, nameOf(op));
    NodeId id = m_graph.addNode(std::move(spec));
    fillDefaults(m_graph.edit(id));
    const Quantity made = resultsOf(id);
    if (!fold(id))
        infer();
    return made;
}

Quantity Draft::resultsOf(NodeId id) const {
    const std::vector<ValueId>& outputs = m_graph.node(id).outputs;
    if (outputs.size() == 1)
        return {outputs[0]};
    Quantity::List list;
    for (ValueId value : outputs)
        list.push_back({value});
    return Quantity::list(std::move(list));
}

Quantity Draft::node(const CustomOperator& custom, const Quantity::List& operands,
                     const NamedQuantities& attributes, size_t outputs) {
    NodeSpec spec;
    spec.op = Op::Unknown;
    if (!addOperands(spec, operands))
        return Quantity::unknown(m_problem);
    Result<Attributes> known = customAttributes(m_graph, custom, attributes);
    if (!known)
        return fail(known.error().message);
    spec.attributes = std::move(*known);
    spec.outputs.assign(outputs, custom.name);
    NodeId id = m_graph.addNode(std::move(spec));
    name(m_graph.edit(id), custom);
    if (Result<void> entered = enterBody(m_graph, id, custom, m_infer); !entered)
        return fail(entered.error().text());
    infer();
    return resultsOf(id);
}

} // namespace fuselage
