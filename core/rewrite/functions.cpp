// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/functions.h"

#include "core/rewrite/draft.h"

#include <algorithm>
#include <cmath>

namespace fuselage {

namespace {

/// Values that are constant stand for their contents.
Quantity plain(const FunctionCall& call, const Quantity& value) {
    const ValueId* id = value.as<ValueId>();
    return id ? contentsOf(call.context.valueGraph(), *id) : value;
}

/// min(list) and min(a, b, c) alike.
std::optional<Quantity::List> operandsOf(const FunctionCall& call) {
    if (call.arguments.size() != 1)
        return call.arguments;
    Quantity only = plain(call, call.arguments[0]);
    if (std::optional<Quantity::List> items = only.items())
        return items;
    return only.isUnknown() ? std::nullopt : std::optional(Quantity::List{only});
}

Quantity unknownOf(const FunctionCall& call) {
    for (const Quantity& argument : call.arguments)
        if (argument.isUnknown())
            return argument;
    for (const Quantity& argument : call.arguments) {
        Quantity value = plain(call, argument);
        if (value.isUnknown())
            return value;
    }
    return Quantity::unknown("a function of these arguments");
}

/// Of all elements of a constant, whatever its shape.
Quantity extremeOf(const Tensor& tensor, bool smallest) {
    const bool isReal = isFloat(tensor.dtype());
    Number best;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        const double element = tensor.at(i);
        if (std::isnan(element))
            return Quantity::unknown("an order of numbers and NaN");
        if (i == 0 || (smallest ? element < best.value : element > best.value))
            best = {element, !isReal};
    }
    return {best};
}

Quantity extreme(const FunctionCall& call, bool smallest) {
    if (call.arguments.size() == 1) {
        const Quantity only = plain(call, call.arguments[0]);
        if (const auto* tensor = only.as<TensorPtr>();
            tensor && (*tensor)->elementCount() > 0 && (*tensor)->dtype() != DType::String)
            return extremeOf(**tensor, smallest);
    }
    std::optional<Quantity::List> operands = operandsOf(call);
    if (!operands || operands->empty())
        return unknownOf(call);
    Quantity best = plain(call, (*operands)[0]);
    for (const Quantity& operand : *operands) {
        Quantity candidate = plain(call, operand);
        Truth better = smallest ? less(candidate, best) : less(best, candidate);
        if (better == Truth::Unknown)
            return Quantity::unknown("an order of " + candidate.text() + " and " + best.text());
        if (better == Truth::True)
            best = candidate;
    }
    return best;
}

Quantity reduce(const FunctionCall& call, const char* symbol, int64_t start) {
    std::optional<Quantity::List> operands = operandsOf(call);
    if (!operands)
        return unknownOf(call);
    Quantity sum = Quantity::integer(start);
    for (const Quantity& operand : *operands)
        sum = arithmetic(symbol, sum, plain(call, operand));
    return sum;
}

Quantity eachNumber(const FunctionCall& call, double (*function)(double), bool integers) {
    Quantity value = plain(call, call.argument(0));
    if (const auto* list = value.as<Quantity::List>()) {
        Quantity::List out;
        for (const Quantity& item : *list) {
            std::optional<double> number = item.number();
            if (!number)
                return Quantity::unknown(item.text());
            out.push_back({Number{function(*number), integers}});
        }
        return Quantity::list(std::move(out));
    }
    std::optional<double> number = value.number();
    if (!number)
        return unknownOf(call);
    const Number* exact = value.as<Number>();
    return {Number{function(*number),
                   integers || (exact && exact->isInteger &&
                                function(*number) == std::floor(function(*number)))}};
}

Quantity combine(const FunctionCall& call, bool all) {
    std::optional<Quantity::List> operands = operandsOf(call);
    if (!operands)
        return unknownOf(call);
    Truth result = truthOf(all);
    for (const Quantity& operand : *operands)
        result = all ? result && operand.truth() : result || operand.truth();
    return Quantity::truth(result);
}

Quantity element(const FunctionCall& call, bool last) {
    std::optional<Quantity::List> items = plain(call, call.argument(0)).items();
    if (!items || items->empty())
        return unknownOf(call);
    return last ? items->back() : items->front();
}

Quantity length(const FunctionCall& call) {
    Quantity value = call.argument(0);
    if (value.isNone())
        return Quantity::integer(0);
    std::optional<Quantity::List> items = plain(call, value).items();
    return items ? Quantity::integer(static_cast<int64_t>(items->size())) : unknownOf(call);
}

/// A node where the rule builds nodes; elsewhere its value if that is constant.
Quantity tensorFunction(const FunctionCall& call, Op op, const Quantity::List& operands,
                        const NamedQuantities& attributes, size_t outputs = 1) {
    if (call.context.builder)
        return call.context.builder->node(op, operands, attributes, outputs);
    Draft draft(call.context.graph, {});
    auto imported = [&](const Quantity& value) {
        const ValueId* id = value.as<ValueId>();
        return id ? Quantity{draft.import(*id)} : value;
    };
    Quantity::List local;
    for (const Quantity& operand : operands) {
        if (const auto* list = operand.as<Quantity::List>()) {
            Quantity::List items;
            for (const Quantity& item : *list)
                items.push_back(imported(item));
            local.push_back(Quantity::list(std::move(items)));
        } else {
            local.push_back(imported(operand));
        }
    }
    Quantity built = draft.node(op, local, attributes, outputs);
    const ValueId* id = built.as<ValueId>();
    return id ? contentsOf(draft.graph(), *id) : built;
}

/// full(shape, value, like): float unless `like` gives a type.
Quantity filled(const FunctionCall& call, const Quantity& shape, double value,
                const Quantity& like) {
    std::optional<Quantity::List> dims = plain(call, shape).items();
    if (!dims)
        return unknownOf(call);
    Extents extents;
    for (const Quantity& dim : *dims) {
        std::optional<int64_t> extent = dim.integerValue();
        if (!extent || *extent < 0)
            return Quantity::unknown("the extent " + dim.text());
        extents.push_back(*extent);
    }
    std::optional<int64_t> count = elementCount(extents);
    if (!count || *count > (int64_t{1} << 28))
        return Quantity::unknown("a tensor of that size");
    DType dtype = DType::Float32;
    if (const ValueId* id = like.as<ValueId>())
        dtype = call.context.valueGraph().value(*id).type.dtype;
    else if (const std::string* name = like.as<std::string>())
        dtype = dtypeFromName(*name).value_or(DType::Undefined);
    else if (const TensorPtr* tensor = like.as<TensorPtr>())
        dtype = (*tensor)->dtype();
    if (dtype == DType::Undefined || dtype == DType::String)
        return Quantity::unknown("an element type");
    auto tensor = std::make_shared<Tensor>(dtype, std::move(extents));
    for (int64_t i = 0; i < tensor->elementCount(); ++i)
        tensor->set(i, value);
    return {TensorPtr(std::move(tensor))};
}

Quantity split(const FunctionCall& call) {
    Quantity sizes = call.argument(1, "sizes");
    std::optional<Quantity::List> parts = sizes.items();
    if (!parts)
        return unknownOf(call);
    Quantity axis = call.argument(2, "axis");
    return tensorFunction(call, Op::Split, {call.argument(0), sizes},
                          {{"axis", axis.isNone() ? Quantity::integer(0) : axis}}, parts->size());
}

/// Lists of numbers behind each other, or tensors along an axis.
Quantity concatenated(const FunctionCall& call) {
    const Quantity parts = call.argument(0);
    const auto* list = parts.as<Quantity::List>();
    const bool ofNumbers =
        list &&
        std::none_of(list->begin(), list->end(),
                     [](const Quantity& part) { return part.as<ValueId>() != nullptr; }) &&
        std::any_of(list->begin(), list->end(),
                    [](const Quantity& part) { return part.as<Quantity::List>() != nullptr; });
    if (!ofNumbers) {
        Quantity axis = call.argument(1, "axis");
        return tensorFunction(call, Op::Concat, {parts},
                              {{"axis", axis.isNone() ? Quantity::integer(0) : axis}});
    }
    Quantity::List out;
    for (const Quantity& part : *list) {
        if (part.isUnknown())
            return part;
        const Quantity::List items = part.items().value_or(Quantity::List{part});
        out.insert(out.end(), items.begin(), items.end());
    }
    return Quantity::list(std::move(out));
}

/// The value beside the key; none where the table has no such key, unknown where that is open.
Quantity lookedUp(const FunctionCall& call) {
    const Quantity key = plain(call, call.argument(0, "key"));
    const std::optional<Quantity::List> keys = call.argument(1, "keys").items();
    const std::optional<Quantity::List> values = call.argument(2, "values").items();
    if (key.isUnknown() || !keys || !values || keys->size() != values->size())
        return key.isUnknown() ? key
                               : Quantity::unknown("a table with as many values as it has keys");
    for (size_t i = 0; i < keys->size(); ++i) {
        const Truth same = equal(key, (*keys)[i]);
        if (same == Truth::Unknown)
            return Quantity::unknown("whether " + key.text() + " is " + (*keys)[i].text());
        if (same == Truth::True)
            return (*values)[i];
    }
    return Quantity::none();
}

Quantity upTo(const FunctionCall& call) {
    constexpr int64_t longest = 4096;
    const Quantity end = plain(call, call.argument(0));
    const std::optional<int64_t> count = end.integerValue();
    if (!count || *count < 0 || *count > longest)
        return end.isUnknown() ? end : Quantity::unknown("a list of " + end.text() + " numbers");
    Quantity::List out;
    for (int64_t i = 0; i < *count; ++i)
        out.push_back(Quantity::integer(i));
    return Quantity::list(std::move(out));
}

Quantity castTo(const FunctionCall& call) {
    Quantity to = call.argument(1, "to");
    DType dtype = DType::Undefined;
    if (const std::string* name = to.as<std::string>())
        dtype = dtypeFromName(*name).value_or(DType::Undefined);
    else if (const ValueId* id = to.as<ValueId>())
        dtype = call.context.valueGraph().value(*id).type.dtype;
    if (dtype == DType::Undefined)
        return Quantity::unknown("an element type");
    return tensorFunction(call, Op::Cast, {call.argument(0)},
                          {{"to", Quantity::integer(onnxNumber(dtype))}});
}

/// True when the first shape broadcasts to the second one, and that is the result.
Quantity broadcastable(const FunctionCall& call) {
    auto dimsOf = [&](const Quantity& value) {
        const ValueId* id = value.as<ValueId>();
        return id ? Quantity::shape(call.context.valueGraph().value(*id).type) : value;
    };
    Quantity from = dimsOf(call.argument(0));
    Quantity to = dimsOf(call.argument(1));
    std::optional<Quantity::List> source = from.items();
    std::optional<Quantity::List> target = to.items();
    if (!source || !target)
        return from.isUnknown() ? from : to;
    if (source->size() > target->size())
        return {false};
    Truth fits = Truth::True;
    size_t offset = target->size() - source->size();
    for (size_t i = 0; i < source->size(); ++i)
        fits = fits && (equal((*source)[i], Quantity::integer(1)) ||
                        equal((*source)[i], (*target)[offset + i]));
    return Quantity::truth(fits);
}

Quantity isConstant(const FunctionCall& call) {
    Quantity value = call.argument(0);
    if (const ValueId* id = value.as<ValueId>())
        return {call.context.valueGraph().isConstant(*id)};
    return {value.as<TensorPtr>() != nullptr || value.as<Number>() != nullptr};
}

Quantity isSplat(const FunctionCall& call) {
    Quantity value = plain(call, call.argument(0));
    return value.isUnknown() ? value : Quantity{value.number().has_value()};
}

constexpr int any = 255;

constexpr FunctionRow rows[] = {
    {"abs", "abs(x)", "magnitude of a number or of each item", 1, 1,
     [](const FunctionCall& c) {
         return eachNumber(
             c, [](double v) { return std::abs(v); }, false);
     }},
    {"all", "all(list)", "true when every item is true", 1, any,
     [](const FunctionCall& c) { return combine(c, true); }},
    {"any", "any(list)", "true when some item is true", 1, any,
     [](const FunctionCall& c) { return combine(c, false); }},
    {"broadcastable", "broadcastable(from, to)",
     "true when the shape `from` broadcasts to exactly the shape `to`", 2, 2, broadcastable},
    {"cast", "cast(x, to)", "x converted to an element type, \"float16\" or that of a value", 1, 2,
     castTo},
    {"ceil", "ceil(x)", "smallest whole number not below x", 1, 1,
     [](const FunctionCall& c) {
         return eachNumber(
             c, [](double v) { return std::ceil(v); }, true);
     }},
    {"concat", "concat(list, axis = 0)",
     "the tensors of a list one after the other along an axis, or its lists of numbers as one list",
     1, 2, concatenated},
    {"first", "first(list)", "first item", 1, 1,
     [](const FunctionCall& c) { return element(c, false); }},
    {"floor", "floor(x)", "largest whole number not above x", 1, 1,
     [](const FunctionCall& c) {
         return eachNumber(
             c, [](double v) { return std::floor(v); }, true);
     }},
    {"full", "full(shape, value, like)", "a constant; element type of `like`, else float", 2, 3,
     [](const FunctionCall& c) {
         std::optional<double> value = plain(c, c.argument(1, "value")).number();
         return value ? filled(c, c.argument(0), *value, c.argument(2, "like")) : unknownOf(c);
     }},
    {"is_const", "is_const(x)", "true when x has constant data", 1, 1, isConstant},
    {"is_splat", "is_splat(x)", "true when all elements of a constant are equal", 1, 1, isSplat},
    {"last", "last(list)", "last item", 1, 1,
     [](const FunctionCall& c) { return element(c, true); }},
    {"len", "len(list)", "number of items; 0 of none", 1, 1, length},
    {"lookup", "lookup(key, keys, values)",
     "the item of `values` that stands where `key` stands in `keys`; none where it does not", 3, 3,
     lookedUp},
    {"max", "max(list)", "largest of a list, of a constant's elements or of the arguments", 1, any,
     [](const FunctionCall& c) { return extreme(c, false); }},
    {"min", "min(list)", "smallest of a list, of a constant's elements or of the arguments", 1, any,
     [](const FunctionCall& c) { return extreme(c, true); }},
    {"ones", "ones(shape, like)", "a constant of ones; element type of `like`, else float", 1, 2,
     [](const FunctionCall& c) { return filled(c, c.argument(0), 1, c.argument(1, "like")); }},
    {"prod", "prod(list)", "product of the items", 1, any,
     [](const FunctionCall& c) { return reduce(c, "*", 1); }},
    {"range", "range(n)", "the numbers from 0 to n - 1, as a list", 1, 1, upTo},
    {"reshape", "reshape(x, shape)", "x under another shape", 2, 2,
     [](const FunctionCall& c) {
         return tensorFunction(c, Op::Reshape, {c.argument(0), c.argument(1, "shape")}, {});
     }},
    {"split", "split(x, sizes, axis = 0)", "the pieces of x along an axis, as a list", 2, 3, split},
    {"sqrt", "sqrt(x)", "square root", 1, 1,
     [](const FunctionCall& c) {
         return eachNumber(
             c, [](double v) { return std::sqrt(v); }, false);
     }},
    {"squeeze", "squeeze(x, axes)", "x without these dimensions of extent 1", 2, 2,
     [](const FunctionCall& c) {
         return tensorFunction(c, Op::Squeeze, {c.argument(0), c.argument(1, "axes")}, {});
     }},
    {"sum", "sum(list)", "sum of the items", 1, any,
     [](const FunctionCall& c) { return reduce(c, "+", 0); }},
    {"transpose", "transpose(x, perm)", "x with its dimensions in another order", 2, 2,
     [](const FunctionCall& c) {
         return tensorFunction(c, Op::Transpose, {c.argument(0)},
                               {{"perm", c.argument(1, "perm")}});
     }},
    {"unsqueeze", "unsqueeze(x, axes)", "x with new dimensions of extent 1", 2, 2,
     [](const FunctionCall& c) {
         return tensorFunction(c, Op::Unsqueeze, {c.argument(0), c.argument(1, "axes")}, {});
     }},
    {"zeros", "zeros(shape, like)", "a constant of zeros; element type of `like`, else float", 1, 2,
     [](const FunctionCall& c) { return filled(c, c.argument(0), 0, c.argument(1, "like")); }},
};

} // namespace

Quantity FunctionCall::argument(size_t position, std::string_view name) const {
    if (position < arguments.size())
        return arguments[position];
    for (const auto& [key, value] : named)
        if (key == name)
            return value;
    return Quantity::none();
}

std::span<const FunctionRow> functionRows() {
    return rows;
}

const FunctionRow* findFunction(std::string_view name) {
    const auto* found = std::lower_bound(
        std::begin(rows), std::end(rows), name,
        [](const FunctionRow& row, std::string_view key) { return row.name < key; });
    return found != std::end(rows) && found->name == name ? found : nullptr;
}

std::string functionsAsMarkdown() {
    std::string out = "| function | what it gives |\n|---|---|\n";
    for (const FunctionRow& row : rows)
        out += std::string("| `") + row.signature + "` | " + row.documentation + " |\n";
    return out;
}

Quantity callFunction(const EvaluateContext& context, const std::string& name,
                      const Quantity::List& arguments, const NamedQuantities& named) {
    const FunctionRow* row = findFunction(name);
    auto count = static_cast<int>(arguments.size());
    if (!row || count > row->maxArguments ||
        count + static_cast<int>(named.size()) < row->minArguments)
        return Quantity::unknown("a call of `" + name + "` with these arguments");
    return row->function({context, arguments, named});
}

} // namespace fuselage
