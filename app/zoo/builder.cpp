// SPDX-License-Identifier: Apache-2.0
#include "app/zoo/builder.h"

#include "core/ops/op_table.h"
#include "core/support/hash.h"

#include <cmath>

namespace fuselage::zoo {

namespace {

uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// Counter-based, so that each weight depends on its name and index only.
void fillUniform(Tensor& tensor, uint64_t key, double low, double high) {
    auto span = tensor.as<float>();
    double step = (high - low) / 16777216.0;
    for (size_t i = 0; i < span.size(); ++i)
        span[i] = static_cast<float>(low + step * static_cast<double>(mixed(key + i) >> 40));
}

std::string attributeFreeName(Op op) {
    return std::string(nameOf(op)) + "_output_0";
}

} // namespace

ValueId Builder::input(const std::string& name, DType dtype, Shape shape) {
    return m_graph.addInput(name, tensorType(dtype, std::move(shape)));
}

void Builder::output(ValueId value, const std::string& name) {
    m_graph.addOutput(value);
    ValueId placeholder = m_graph.addInput(name, {});
    m_graph.takeName(value, placeholder);
    m_graph.removeInput(m_graph.inputs().size() - 1);
}

ValueId Builder::weight(const std::string& name, const Extents& extents, double deviation,
                        double mean) {
    return m_graph.addConstant(weightName(name), std::make_shared<const Tensor>(
                                                     weightData(name, extents, deviation, mean)));
}

Tensor Builder::weightData(const std::string& name, const Extents& extents, double deviation,
                           double mean) const {
    Tensor data(DType::Float32, extents);
    double reach = deviation * std::sqrt(3.0);
    fillUniform(data, Hasher().number(m_seed).text(weightName(name)).value(), mean - reach,
                mean + reach);
    return data;
}

std::string Builder::weightName(const std::string& name) const {
    return m_scope.empty() ? name : m_scope.substr(1) + "." + name;
}

ValueId Builder::table(const std::string& name, Tensor data) {
    return m_graph.addConstant(name, std::make_shared<const Tensor>(std::move(data)));
}

ValueId Builder::constant(float value) {
    return m_graph.addConstant(scoped("Constant_output_0"),
                               std::make_shared<const Tensor>(Tensor::scalar(value)));
}

ValueId Builder::integers(const std::vector<int64_t>& values) {
    return m_graph.addConstant(scoped("Constant_output_0"),
                               std::make_shared<const Tensor>(Tensor::ofInts(values)));
}

ValueId Builder::integer(int64_t value) {
    return m_graph.addConstant(
        scoped("Constant_output_0"),
        std::make_shared<const Tensor>(Tensor::ofInts({value}).reshaped({})));
}

ValueId Builder::apply(Op op, const std::vector<ValueId>& inputs, Attributes attributes) {
    return applyMany(op, inputs, 1, std::move(attributes))[0];
}

std::vector<ValueId> Builder::applyMany(Op op, const std::vector<ValueId>& inputs, size_t outputs,
                                        Attributes attributes) {
    NodeSpec spec{op, scoped(nameOf(op)), inputs, {}, std::move(attributes), {}};
    spec.outputs.assign(outputs, scoped(attributeFreeName(op)));
    return m_graph.node(m_graph.addNode(std::move(spec))).outputs;
}

std::vector<ValueId> Builder::applyForeign(const std::string& domain, const std::string& op,
                                           const std::vector<ValueId>& inputs,
                                           const std::vector<bool>& asked, Attributes attributes) {
    NodeSpec spec{Op::Unknown, scoped(op), inputs, {}, std::move(attributes), {}};
    for (const bool isAsked : asked)
        spec.outputs.push_back(isAsked ? scoped(op + "_output_0") : "");
    const NodeId node = m_graph.addNode(std::move(spec));
    m_graph.edit(node).customDomain = domain;
    m_graph.edit(node).customOp = op;
    if (!domain.empty())
        m_graph.opsetImports[domain] = 1;
    return m_graph.node(node).outputs;
}

ValueId Builder::conv(const std::string& name, ValueId x, const ConvSpec& spec) {
    Scope scope(*this, name);
    int64_t fanIn = spec.in / spec.groups * spec.kernel * spec.kernel;
    std::vector<ValueId> inputs{
        x, weight("weight", {spec.out, spec.in / spec.groups, spec.kernel, spec.kernel},
                  std::sqrt(2.0 / static_cast<double>(fanIn)))};
    if (spec.bias)
        inputs.push_back(weight("bias", {spec.out}, 0.1));
    Attributes attributes;
    attributes.set("dilations", std::vector<int64_t>{1, 1});
    attributes.set("group", spec.groups);
    attributes.set("kernel_shape", std::vector<int64_t>{spec.kernel, spec.kernel});
    attributes.set("pads", std::vector<int64_t>(4, spec.padding));
    attributes.set("strides", std::vector<int64_t>{spec.stride, spec.stride});
    return apply(Op::Conv, inputs, std::move(attributes));
}

ValueId Builder::convTranspose(const std::string& name, ValueId x, int64_t in, int64_t out,
                               int64_t kernel, int64_t stride) {
    Scope scope(*this, name);
    ValueId w =
        weight("weight", {in, out, kernel, kernel}, std::sqrt(2.0 / static_cast<double>(in)));
    ValueId bias = weight("bias", {out}, 0.1);
    Attributes attributes;
    attributes.set("dilations", std::vector<int64_t>{1, 1});
    attributes.set("group", int64_t{1});
    attributes.set("kernel_shape", std::vector<int64_t>{kernel, kernel});
    attributes.set("pads", std::vector<int64_t>(4, 0));
    attributes.set("strides", std::vector<int64_t>{stride, stride});
    return apply(Op::ConvTranspose, {x, w, bias}, std::move(attributes));
}

ValueId Builder::batchNorm(const std::string& name, ValueId x, int64_t channels, double gain) {
    Scope scope(*this, name);
    std::vector<ValueId> inputs{
        x, weight("weight", {channels}, 0.1 * gain, gain), weight("bias", {channels}, 0.1),
        weight("running_mean", {channels}, 0.1), weight("running_var", {channels}, 0.1, 1)};
    Attributes attributes;
    attributes.set("epsilon", 1e-5);
    attributes.set("momentum", 0.9);
    attributes.set("training_mode", int64_t{0});
    return apply(Op::BatchNormalization, inputs, std::move(attributes));
}

ValueId Builder::layerNorm(const std::string& name, ValueId x, int64_t width, double epsilon) {
    Scope scope(*this, name);
    Attributes attributes;
    attributes.set("axis", int64_t{-1});
    attributes.set("epsilon", epsilon);
    return apply(Op::LayerNormalization,
                 {x, weight("weight", {width}, 0.1, 1), weight("bias", {width}, 0.1)},
                 std::move(attributes));
}

ValueId Builder::linear(const std::string& name, ValueId x, int64_t in, int64_t out) {
    Scope scope(*this, name);
    ValueId w = weight("weight", {in, out}, 1 / std::sqrt(static_cast<double>(in)));
    ValueId product = apply(Op::MatMul, {x, w});
    return apply(Op::Add, {weight("bias", {out}, 0.1), product});
}

ValueId Builder::gemm(const std::string& name, ValueId x, int64_t in, int64_t out) {
    Scope scope(*this, name);
    Attributes attributes;
    attributes.set("alpha", 1.0);
    attributes.set("beta", 1.0);
    attributes.set("transA", int64_t{0});
    attributes.set("transB", int64_t{1});
    return apply(Op::Gemm,
                 {x, weight("weight", {out, in}, 1 / std::sqrt(static_cast<double>(in))),
                  weight("bias", {out}, 0.1)},
                 std::move(attributes));
}

ValueId Builder::geluErf(ValueId x) {
    ValueId erf = apply(Op::Erf, {apply(Op::Div, {x, constant(1.4142135381698608F)})});
    ValueId gate = apply(Op::Add, {erf, constant(1)});
    return apply(Op::Mul, {apply(Op::Mul, {x, gate}), constant(0.5F)});
}

ValueId Builder::geluTanh(ValueId x) {
    ValueId half = apply(Op::Mul, {x, constant(0.5F)});
    ValueId cube = apply(Op::Mul, {apply(Op::Pow, {x, constant(3)}), constant(0.044715F)});
    ValueId inner = apply(Op::Mul, {apply(Op::Add, {x, cube}), constant(0.7978845834732056F)});
    ValueId gate = apply(Op::Add, {apply(Op::Tanh, {inner}), constant(1)});
    return apply(Op::Mul, {half, gate});
}

ValueId Builder::transpose(ValueId x, const std::vector<int64_t>& order) {
    Attributes attributes;
    attributes.set("perm", order);
    return apply(Op::Transpose, {x}, std::move(attributes));
}

ValueId Builder::dimension(ValueId x, int64_t axis) {
    Attributes attributes;
    attributes.set("axis", int64_t{0});
    return apply(Op::Gather, {apply(Op::Shape, {x}), integer(axis)}, std::move(attributes));
}

ValueId Builder::shape(const std::vector<ShapeEntry>& entries) {
    std::vector<ValueId> parts;
    for (const ShapeEntry& entry : entries)
        parts.push_back(entry.value.valid() ? apply(Op::Unsqueeze, {entry.value, integers({0})})
                                            : integers({entry.number}));
    Attributes attributes;
    attributes.set("axis", int64_t{0});
    return apply(Op::Concat, parts, std::move(attributes));
}

ValueId Builder::reshape(ValueId x, ValueId shape) {
    Attributes attributes;
    attributes.set("allowzero", int64_t{0});
    return apply(Op::Reshape, {x, shape}, std::move(attributes));
}

Graph Builder::finish(int64_t opset) {
    m_graph.opsetImports[""] = opset;
    for (NodeId id : m_graph.nodes())
        fillDefaults(m_graph.edit(id));
    return std::move(m_graph);
}

} // namespace fuselage::zoo
