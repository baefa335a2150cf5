// SPDX-License-Identifier: Apache-2.0
#include "app/studio/graph_view/op_family.h"

#include <algorithm>
#include <unordered_map>

namespace fuselage::studio {

namespace {

struct FamilyRow {
    OpFamily family;
    const char* ops; ///< words
};

constexpr FamilyRow families[] = {
    {{QT_TRANSLATE_NOOP("OpFamily", "products"), "rule-0"},
     "Conv ConvTranspose ConvInteger QLinearConv MatMul MatMulInteger QLinearMatMul Gemm Einsum "
     "GatherMatMul MatMulNBits MatMulIntegerToFloat DynamicQuantizeMatMul FusedConv FusedMatMul "
     "FusedGemm"},
    {{QT_TRANSLATE_NOOP("OpFamily", "normalisation"), "rule-2"},
     "BatchNormalization LayerNormalization InstanceNormalization GroupNormalization "
     "RMSNormalization LRN LpNormalization MeanVarianceNormalization Softmax LogSoftmax "
     "SkipLayerNormalization SimplifiedLayerNormalization"},
    {{QT_TRANSLATE_NOOP("OpFamily", "activations"), "rule-3"},
     "Relu LeakyRelu PRelu Elu Selu Celu Gelu Sigmoid HardSigmoid HardSwish Mish Tanh Softplus "
     "Softsign ThresholdedRelu Clip Erf Swish FastGelu BiasGelu QuickGelu"},
    {{QT_TRANSLATE_NOOP("OpFamily", "pooling and reductions"), "rule-5"},
     "MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool ReduceMean ReduceSum ReduceMax "
     "ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp ArgMax "
     "ArgMin TopK CumSum CumProd"},
    {{QT_TRANSLATE_NOOP("OpFamily", "moving data"), "rule-7"},
     "Reshape Transpose Concat Split Slice Gather GatherND GatherElements Scatter ScatterND "
     "ScatterElements Squeeze Unsqueeze Flatten Expand Tile Pad Resize Upsample DepthToSpace "
     "SpaceToDepth Identity Shape Size ConstantOfShape Range NonZero Compress ReverseSequence"},
    {{QT_TRANSLATE_NOOP("OpFamily", "attention and recurrence"), "rule-4"},
     "Attention MultiHeadAttention GroupQueryAttention LinearRecurrence LSTM GRU RNN "
     "DynamicQuantizeLSTM "
     "RotaryEmbedding"},
    {{QT_TRANSLATE_NOOP("OpFamily", "quantisation"), "rule-6"},
     "QuantizeLinear DequantizeLinear DynamicQuantizeLinear Cast"},
    {{QT_TRANSLATE_NOOP("OpFamily", "control"), "rule-1"}, "If Loop Scan"},
    {{QT_TRANSLATE_NOOP("OpFamily", "arithmetic"), "rule-8"},
     "Add Sub Mul Div Pow Sqrt Exp Log Abs Neg Reciprocal Floor Ceil Round Sign Sin Cos Max Min "
     "Mean Sum Mod Where Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor Not IsNaN "
     "IsInf"},
};

std::unordered_map<std::string, const OpFamily*> table() {
    std::unordered_map<std::string, const OpFamily*> out;
    for (const FamilyRow& row : families) {
        const std::string ops = row.ops;
        for (size_t at = 0; at < ops.size();) {
            const size_t end = std::min(ops.find(' ', at), ops.size());
            out[ops.substr(at, end - at)] = &row.family;
            at = end + 1;
        }
    }
    return out;
}

} // namespace

const OpFamily* familyOf(const std::string& op) {
    static const std::unordered_map<std::string, const OpFamily*> known = table();
    auto found = known.find(op);
    return found == known.end() ? nullptr : found->second;
}

} // namespace fuselage::studio
