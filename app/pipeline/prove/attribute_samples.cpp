// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/attribute_samples.h"

#include "core/ops/schema_facts.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace fuselage::app {

namespace {

using Ints = std::vector<int64_t>;

constexpr uint32_t percentAllAxes = 8;

template <typename T> T oneOf(Choices& choices, const std::vector<T>& values) {
    return values[choices.pick(static_cast<uint32_t>(values.size()))];
}

bool isWindow(Op op) {
    return op == Op::Conv || op == Op::ConvInteger || op == Op::ConvTranspose ||
           op == Op::FusedConv || op == Op::QLinearConv || op == Op::MaxUnpool ||
           hasTrait(op, Pooling);
}

size_t spatial(const AttributeContext& context) {
    return context.rank > 2 ? context.rank - 2 : 2;
}

/// Texts of which core/ops/schema_facts.h, which checks of rules ask, knows no list.
std::vector<std::string> textsOf(Op op, const std::string& name) {
    const std::span<const char* const> known = valuesOf(op, name);
    if (!known.empty())
        return {known.begin(), known.end()};
    if (name == "coordinate_transformation_mode" && op == Op::Resize)
        return {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                "half_pixel_symmetric"};
    if (name == "activation" && op == Op::FusedConv)
        return {"Relu", "Tanh", "Sigmoid"};
    if (name == "keep_aspect_ratio_policy")
        return {"stretch", "not_larger", "not_smaller"};
    return {};
}

bool isSwitch(const std::string& name) {
    static const std::set<std::string> more{
        "upper",           "fmod",     "antialias", "storage_order",      "align_corners",
        "exclude_outside", "onesided", "layout",    "linear_before_reset"};
    return isFlag(name) || more.contains(name);
}

Ints permutation(const AttributeContext& context) {
    Ints perm(context.rank);
    std::iota(perm.begin(), perm.end(), 0);
    // 0 everywhere keeps the order.
    for (size_t i = 0; i + 1 < perm.size(); ++i)
        std::swap(perm[i], perm[i + context.choices.pick(static_cast<uint32_t>(perm.size() - i))]);
    return perm;
}

Ints someAxes(const AttributeContext& context) {
    auto rank = static_cast<int64_t>(context.rank);
    Ints axes;
    for (int64_t axis = rank - 1; axis >= 0; --axis)
        if (axis == rank - 1 || context.choices.rarely(30))
            axes.push_back(context.choices.rarely(50) ? axis : axis - rank);
    if (axes.size() > 1 && context.choices.rarely(30))
        axes.erase(axes.begin());
    std::reverse(axes.begin(), axes.end());
    return axes;
}

Ints listOf(const AttributeContext& context, const std::string& name) {
    size_t count = spatial(context) * (name == "pads" ? 2 : 1);
    Ints out(count, name == "pads" ? 0 : 1);
    for (int64_t& item : out) {
        if (name == "pads")
            item = oneOf<int64_t>(context.choices, {0, 1, 2, 1});
        else
            item = oneOf<int64_t>(context.choices, {1, 2, 3});
    }
    return out;
}

AttributeValue axisValue(const AttributeContext& context, int64_t fallback) {
    auto rank = static_cast<uint32_t>(std::max<size_t>(context.rank, 1));
    int64_t axis = static_cast<int64_t>(context.choices.pick(2 * rank)) - int64_t{rank};
    return context.choices.rarely(60) ? axis : fallback;
}

std::optional<AttributeValue> integerOf(const AttributeContext& context,
                                        const AttributeSchema& schema) {
    const std::string& name = schema.name;
    if (name == "axis")
        return axisValue(context, schema.fallback ? std::get<int64_t>(*schema.fallback) : 0);
    if (name == "block_size" && schema.required) // of packed weights
        return oneOf<int64_t>(context.choices, {16, 16, 32});
    if (name == "block_size" && context.choices.rarely(20)) // a scale for so many neighbours
        return oneOf<int64_t>(context.choices, {2, 1, 3});
    if (name == "size" && schema.required) // of neighbours, itself among them
        return oneOf<int64_t>(context.choices, {3, 1, 5, 2});
    if (name == "start" || name == "end") // of a shape
        return oneOf<int64_t>(context.choices, {1, -1, 0, 2});
    if (name == "group" || name == "num_groups")
        return int64_t{1 + context.choices.pick(3)};
    if (name == "to")
        return onnxNumber(
            context.wanted ? *context.wanted
                           : oneOf<DType>(context.choices,
                                          {DType::Float32, DType::Int32, DType::Int64, DType::Int8,
                                           DType::Float16, DType::UInt8, DType::Bool, DType::Int16,
                                           DType::UInt16, DType::UInt32, DType::UInt64,
                                           DType::Float64, DType::BFloat16}));
    return std::nullopt; // seeds and the like stay as they are
}

/// Of a declared operator nobody knows what a name means: its type says what may stand there.
std::optional<AttributeValue> ofDeclared(const AttributeContext& context,
                                         const AttributeSchema& schema) {
    if (schema.type == "int" && schema.name == "axis")
        return axisValue(context, 0);
    if (schema.type == "int")
        return oneOf<int64_t>(context.choices, {1, 0, 2, -1, 3});
    if (schema.type == "float")
        return oneOf<double>(context.choices, {1, 0.5, 2, 0, -1, 3});
    if (schema.type == "ints")
        return schema.name == "perm" ? permutation(context) : someAxes(context);
    if (schema.type == "string" && schema.required)
        return std::string("a");
    return std::nullopt;
}

std::optional<AttributeValue> varied(const AttributeContext& context,
                                     const AttributeSchema& schema) {
    const std::string& name = schema.name;
    if (context.op == Op::Unknown)
        return ofDeclared(context, schema);
    if (schema.type == "int")
        return integerOf(context, schema);
    if (schema.type == "string" && context.op == Op::Einsum)
        return oneOf<std::string>(context.choices,
                                  {"ij,jk->ik", "bij,bjk->bik", "bid,bjd->bij", "ij->ji", "i,j->ij",
                                   "ij,ij->i", "bhid,bhjd->bhij", "ijk->ik", "ii->i", "i,ij,j->"});
    if (schema.type == "float" && name == "clip") // what a gate takes
        return oneOf<double>(context.choices, {1, 0.5, 3});
    if (schema.type == "float" && name == "epsilon")
        return oneOf<double>(context.choices, {1e-5, 1e-3, 0.5});
    if (schema.type == "float" && name != "momentum" && name != "seed")
        return oneOf<double>(context.choices, {1, 0.5, 2, 0, -1, 0.25});
    if (schema.type != "ints")
        return std::nullopt;
    if (name == "perm")
        return permutation(context);
    if (name == "pooled_shape")
        return Ints{1 + context.choices.pick(3), 1 + context.choices.pick(3)};
    if (name == "axes")
        return someAxes(context);
    bool kernelOfWeight = name == "kernel_shape" && !schema.required;
    if (isWindow(context.op) && !kernelOfWeight &&
        (name == "pads" || name == "strides" || name == "dilations" || name == "kernel_shape"))
        return listOf(context, name);
    return std::nullopt;
}

} // namespace

std::vector<AttributeValue> allValuesOf(Op op, const AttributeSchema& schema) {
    std::vector<AttributeValue> out;
    if (schema.type == "string")
        for (std::string& text : textsOf(op, schema.name))
            out.emplace_back(std::move(text));
    else if (schema.type == "int" && isSwitch(schema.name))
        out = {int64_t{0}, int64_t{1}};
    else if (schema.type == "int" && schema.name == "blocksize")
        out = {int64_t{2}, int64_t{3}};
    else if (schema.type == "int" && schema.name == "bits")
        out = {int64_t{4}, int64_t{2}, int64_t{8}};
    else if (schema.type == "int" && schema.name == "p")
        out = {int64_t{2}, int64_t{1}, int64_t{3}};
    if (schema.fallback)
        if (auto usual = std::find(out.begin(), out.end(), *schema.fallback); usual != out.end())
            std::rotate(out.begin(), usual, usual + 1);
    return out;
}

std::optional<AttributeValue> freeAttribute(const AttributeContext& context,
                                            const AttributeSchema& schema) {
    bool always =
        schema.required || (context.op == Op::Unknown && !schema.fallback) || schema.name == "perm";
    const bool isAlongAxes = schema.name == "axes" && hasTrait(context.op, Reduction);
    if (isAlongAxes) // all axes, now and then
        return context.choices.rarely(percentAllAxes) ? schema.fallback : someAxes(context);
    auto decided = [&](uint64_t point, uint32_t count) {
        return context.point ? context.choices.structural(context.point + point, count)
                             : context.choices.pick(count);
    };
    const std::vector<AttributeValue> values = allValuesOf(context.op, schema);
    if (!values.empty() && !schema.fallback && !always && decided(0, 2) == 0)
        return std::nullopt;
    if (values.size() > 1) {
        constexpr uint32_t ofWhichOne = 3; // is another value: a node has many of these
        if (decided(0, ofWhichOne) + 1 < ofWhichOne)
            return values[0];
        return values[1 + decided(1, static_cast<uint32_t>(values.size()) - 1)];
    }
    if (!always && decided(0, 2) == 0)
        return schema.fallback;
    std::optional<AttributeValue> value = varied(context, schema);
    return value ? value : schema.fallback;
}

} // namespace fuselage::app
