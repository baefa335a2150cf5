// SPDX-License-Identifier: Apache-2.0
#include "dsl/names_elsewhere.h"

#include "core/graph/dtype.h"
#include "dsl/resolve.h"
#include "dsl/suggest.h"

#include <algorithm>

namespace fuselage::dsl {

namespace {

// Names as `bared` leaves them.
constexpr NameElsewhere operatorRows[] = {
    {"adaptiveavgpool", "GlobalAveragePool"},
    {"addmm", "Gemm"},
    {"amax", "ReduceMax"},
    {"amin", "ReduceMin"},
    {"arange", "Range"},
    {"avgpool", "AveragePool"},
    {"batchnorm", "BatchNormalization"},
    {"biasadd", "Add"},
    {"bmm", "MatMul"},
    {"broadcastto", "Expand"},
    {"cat", "Concat"},
    {"chunk", "Split"},
    {"clamp", "Clip"},
    {"concatenate", "Concat"},
    {"convolution", "Conv"},
    {"deconv", "ConvTranspose"},
    {"deconvolution", "ConvTranspose"},
    {"dense", "Gemm"},
    {"depthwiseconv", "Conv"},
    {"divide", "Div"},
    {"embedding", "Gather"},
    {"eq", "Equal"},
    {"expanddims", "Unsqueeze"},
    {"fullyconnected", "Gemm"},
    {"fusedbatchnorm", "BatchNormalization"},
    {"ge", "GreaterOrEqual"},
    {"globalavgpool", "GlobalAveragePool"},
    {"groupnorm", "GroupNormalization"},
    {"gt", "Greater"},
    {"hardtanh", "Clip"},
    {"indexselect", "Gather"},
    {"instancenorm", "InstanceNormalization"},
    {"interpolate", "Resize"},
    {"layernorm", "LayerNormalization"},
    {"le", "LessOrEqual"},
    {"linear", "Gemm"},
    {"localresponsenorm", "LRN"},
    {"lt", "Less"},
    {"maskedfill", "Where(m, y, x)"},
    {"maximum", "Max"},
    {"minimum", "Min"},
    {"mm", "MatMul"},
    {"multiply", "Mul"},
    {"narrow", "Slice"},
    {"ne", "Not(Equal(x, y))"},
    {"notequal", "Not(Equal(x, y))"},
    {"permute", "Transpose"},
    {"pixelshuffle", "DepthToSpace"},
    {"pixelunshuffle", "SpaceToDepth"},
    {"power", "Pow"},
    {"realdiv", "Div"},
    {"relu6", "Clip(x, 0, 6)"},
    {"repeat", "Tile"},
    {"rmsnorm", "RMSNormalization"},
    {"rsqrt", "Reciprocal(Sqrt(x))"},
    {"rsub", "Sub(y, x)"},
    {"scaleddotproductattention", "Attention"},
    {"sdpa", "Attention"},
    {"silu", "Mul(x, Sigmoid(x))"},
    {"square", "Mul(x, x)"},
    {"stridedslice", "Slice"},
    {"subtract", "Sub"},
    {"swapaxes", "Transpose"},
    {"truediv", "Div"},
    {"view", "Reshape"},
    {"zeropad", "Pad"},
};

// Several rows of a name: operators differ in which of them they have.
constexpr NameElsewhere attributeRows[] = {
    {"dilation", "dilations"},
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "perm"},
    {"dims", "axes"},
    {"dtype", "to"},
    {"eps", "epsilon"},
    {"groups", "group"},
    {"kernel", "kernel_shape"},
    {"kernelsize", "kernel_shape"},
    {"negativeslope", "alpha"},
    {"pad", "pads"},
    {"padding", "pads"},
    {"slope", "alpha"},
    {"stride", "strides"},
};

constexpr NameElsewhere typeRows[] = {
    {"bf16", "bfloat16"}, {"boolean", "bool"},  {"f16", "float16"},    {"f32", "float"},
    {"f64", "double"},    {"float32", "float"}, {"float64", "double"}, {"fp16", "float16"},
    {"fp32", "float"},    {"fp64", "double"},   {"half", "float16"},   {"i16", "int16"},
    {"i32", "int32"},     {"i64", "int64"},     {"i8", "int8"},        {"int", "int32"},
    {"long", "int64"},    {"short", "int16"},   {"u8", "uint8"},
};

/// In lower case, without `_` and without the "2d" or "V2" of its end.
std::string bared(std::string_view name) {
    std::string out = lowered(name);
    std::erase(out, '_');
    for (const std::string_view end : {"v2", "v3", "v4", "1d", "2d", "3d"})
        if (out.size() > end.size() && out.ends_with(end))
            return out.substr(0, out.size() - end.size());
    return out;
}

/// The one that is called so but for case; null: none is.
const std::string* sameOperator(std::string_view inLowerCase) {
    const std::vector<std::string>& names = operatorNames();
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return lowered(name) == inLowerCase;
    });
    return found == names.end() ? nullptr : &*found;
}

/// Otherwise a term over several.
bool isOperator(std::string_view term) {
    return term.find('(') == std::string_view::npos;
}

} // namespace

std::string_view operatorElsewhere(std::string_view name) {
    const std::string wanted = bared(name);
    for (const auto& [elsewhere, term] : operatorRows)
        if (elsewhere == wanted)
            return term;
    const std::string* same = sameOperator(wanted);
    return same ? std::string_view(*same) : std::string_view();
}

std::string_view typeElsewhere(std::string_view name) {
    const std::string_view bare = name.substr(name.rfind('.') + 1); // "torch.half"
    const std::string wanted = lowered(bare);
    for (const auto& [elsewhere, here] : typeRows)
        if (elsewhere == wanted)
            return here;
    return bare != name && dtypeFromName(bare) ? bare : std::string_view();
}

bool isModuleElsewhere(std::string_view domain) {
    const std::string_view first = domain.substr(0, domain.find('.'));
    static constexpr std::string_view modules[] = {"F",  "jax",   "keras", "nn",
                                                   "np", "numpy", "tf",    "torch"};
    return std::find(std::begin(modules), std::end(modules), first) != std::end(modules);
}

std::string attributeMeant(const std::string& name, const std::vector<std::string>& known) {
    const std::string wanted = bared(name);
    for (const auto& [elsewhere, here] : attributeRows)
        if (elsewhere == wanted && std::find(known.begin(), known.end(), here) != known.end())
            return std::string(here);
    return closest(name, known);
}

std::string operatorMeant(const std::string& name, const std::vector<std::string>& known) {
    if (const std::string_view term = operatorElsewhere(name); !term.empty())
        return std::string(isOperator(term) ? term : "");
    return closest(name, known);
}

std::string operatorFix(const std::string& name, const std::vector<std::string>& known,
                        std::string otherwise) {
    if (const std::string_view term = operatorElsewhere(name); !isOperator(term))
        otherwise = "ONNX has none of that name: write `" + std::string(term) + "`";
    return didYouMean(operatorMeant(name, known), std::move(otherwise));
}

std::span<const NameElsewhere> operatorsElsewhere() {
    return operatorRows;
}

} // namespace fuselage::dsl
