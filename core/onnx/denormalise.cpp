// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/denormalise_internal.h"
#include "core/ops/op_table.h"

#include <algorithm>

namespace fuselage::model_io {

namespace {

/// Reductions whose axes became an input in opset 18 (ReduceSum has had it since 13).
constexpr Op lateReductions[] = {Op::ReduceL1,        Op::ReduceL2,   Op::ReduceLogSum,
                                 Op::ReduceLogSumExp, Op::ReduceMax,  Op::ReduceMean,
                                 Op::ReduceMin,       Op::ReduceProd, Op::ReduceSumSquare};

void axesToInput(FileNode& file, const ConstantSink& addConstant) {
    if (!file.attributes.has("axes"))
        return;
    file.inputs.push_back(addConstant(Tensor::ofInts(file.attributes.integers("axes")), "axes"));
    file.attributes.erase("axes");
}

void dftAxisToInput(const Node& node, FileNode& file, const ConstantSink& addConstant) {
    Tensor axis(DType::Int64, {});
    axis.setInt(0, node.attributes.integer("axis", 1));
    file.inputs.resize(2);
    file.inputs.push_back(addConstant(std::move(axis), "axis"));
    file.attributes.erase("axis");
}

} // namespace

FileNode fileFormOf(const Node& node, int64_t opset, const ConstantSink& addConstant) {
    FileNode file;
    file.op = node.op;
    file.inputs.resize(node.explicitInputs);
    for (const auto& [name, value] : node.attributes)
        if (!isSchemaDefault(node.op, name, value))
            file.attributes.set(name, value);
    bool reduction = std::find(std::begin(lateReductions), std::end(lateReductions), node.op) !=
                     std::end(lateReductions);
    // Of ReduceSum a rule may have written them as an attribute.
    if ((opset >= 18 && reduction) || (opset >= 13 && node.op == Op::ReduceSum))
        axesToInput(file, addConstant);
    if (opset >= 18 && node.op == Op::Split && node.explicitInputs < 2)
        file.attributes.set("num_outputs", static_cast<int64_t>(node.outputs.size()));
    if (opset >= 23 && node.op == Op::SimplifiedLayerNormalization && node.outputs.size() == 1)
        file.op = Op::RMSNormalization;
    if (opset >= 20 && node.op == Op::DFT && node.explicitInputs < 3)
        dftAxisToInput(node, file, addConstant);
    if (opset >= 20 && node.op == Op::GridSample) {
        std::string mode = node.attributes.string("mode", "bilinear");
        file.attributes.set("mode", mode == "bilinear"  ? std::string("linear")
                                    : mode == "bicubic" ? std::string("cubic")
                                                        : mode);
    }
    return file;
}

} // namespace fuselage::model_io
