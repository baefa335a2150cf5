// SPDX-License-Identifier: Apache-2.0
#include "tests/fakecuda/libraries/cudnn_check.h"

#include "tests/fakecuda/fake_state.h"

#include <algorithm>
#include <set>

namespace fakelibs {

namespace {

using dnn::Attribute;
using dnn::Kind;

int bad(const std::string& words) {
    return refuse(DnnBadParam, words);
}

bool isElement(int type) {
    for (dnn::DataType known : {dnn::DataType::CUDNN_DATA_FLOAT, dnn::DataType::CUDNN_DATA_HALF,
                                dnn::DataType::CUDNN_DATA_BFLOAT16, dnn::DataType::CUDNN_DATA_INT8,
                                dnn::DataType::CUDNN_DATA_UINT8, dnn::DataType::CUDNN_DATA_INT32})
        if (type == static_cast<int>(known))
            return true;
    return false;
}

/// Factors of floats are summed as floats, signed bytes in 32 bits.
int checkSums(const Object& op, Attribute left, Attribute right, const Object& descriptor,
              Attribute compute) {
    const Element a = tensorOf(*op.reference(left)).layout.type;
    const int type = descriptor.one<int>(compute, -1);
    if (a != tensorOf(*op.reference(right)).layout.type)
        return bad("factors of two types");
    if (a == Element::UInt8 || a == Element::Int32)
        return refuse(DnnNotSupported, "factors of this type");
    return (a == Element::Int8) == (type == static_cast<int>(dnn::DataType::CUDNN_DATA_INT32))
               ? int{DnnSuccess}
               : bad("the type of the sums");
}

Numbers dimsOf(const Object& operation, Attribute attribute) {
    return operation.reference(attribute)->list<int64_t>(Attribute::CUDNN_ATTR_TENSOR_DIMENSIONS);
}

bool floatMath(const Object& object, Attribute attribute) {
    return object.one<int>(attribute, -1) == static_cast<int>(dnn::DataType::CUDNN_DATA_FLOAT);
}

int checkTensor(const Object& x) {
    const Numbers dims = x.list<int64_t>(Attribute::CUDNN_ATTR_TENSOR_DIMENSIONS);
    const Numbers strides = x.list<int64_t>(Attribute::CUDNN_ATTR_TENSOR_STRIDES);
    const auto alignment = x.one<int64_t>(Attribute::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
    const int type = x.one<int>(Attribute::CUDNN_ATTR_TENSOR_DATA_TYPE, -1);
    if (!isElement(type))
        return refuse(DnnNotSupported, "the tensor's type");
    if (dims.size() != strides.size() || dims.size() < 3)
        return bad("dims and strides of a tensor");
    for (size_t d = 0; d < dims.size(); ++d)
        if (dims[d] < 1 || strides[d] < 1)
            return bad("a dim or stride below one");
    if (alignment < static_cast<int64_t>(sizeOf(elementOf(type))) ||
        (alignment & (alignment - 1)) != 0)
        return bad("the tensor's alignment");
    if (x.one<char>(Attribute::CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) &&
        x.one<char>(Attribute::CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0))
        return bad("a virtual tensor that is passed by value");
    return DnnSuccess;
}

int checkConvolution(const Object& x) {
    const auto dims =
        static_cast<size_t>(x.one<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
    for (Attribute list : {Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS,
                           Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                           Attribute::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
                           Attribute::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS})
        if (x.list<int64_t>(list).size() != dims)
            return bad("a list of the convolution has not one entry a spatial dimension");
    for (Attribute list : {Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS,
                           Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES})
        for (int64_t value : x.list<int64_t>(list))
            if (value < 1)
                return bad("a stride or dilation below one");
    if (dims < 2 || dims > 3)
        return refuse(DnnNotSupported, "spatial dimensions");
    const int type = x.one<int>(Attribute::CUDNN_ATTR_CONVOLUTION_COMP_TYPE, -1);
    return type == static_cast<int>(dnn::DataType::CUDNN_DATA_FLOAT) ||
                   type == static_cast<int>(dnn::DataType::CUDNN_DATA_INT32)
               ? int{DnnSuccess}
               : bad("the convolution's type");
}

int checkConvolutionForward(const Object& op) {
    const Object& conv =
        *op.reference(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
    const Numbers x = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
    const Numbers w = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
    const Numbers y = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
    const Numbers pre = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    const Numbers post = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    const Numbers strides = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    const Numbers dilations = conv.list<int64_t>(Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS);
    if (x.size() != pre.size() + 2 || w.size() != x.size() || y.size() != x.size())
        return bad("ranks of the convolution's tensors");
    if (y[0] != x[0] || y[1] != w[0] || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0)
        return bad("channels of the convolution");
    for (size_t d = 0; d < pre.size(); ++d) {
        const int64_t room = x[d + 2] + pre[d] + post[d] - ((w[d + 2] - 1) * dilations[d] + 1);
        if (room < 0 || room / strides[d] + 1 != y[d + 2])
            return bad("the convolution's result has other extents");
    }
    if (op.one<float>(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 0) != 1 ||
        op.one<float>(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 1) != 0)
        return refuse(DnnNotSupported, "alpha and beta");
    return checkSums(op, Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                     Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, conv,
                     Attribute::CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
}

bool takesTwo(int mode) {
    using dnn::Pointwise;
    for (Pointwise known : {Pointwise::CUDNN_POINTWISE_ADD, Pointwise::CUDNN_POINTWISE_MUL,
                            Pointwise::CUDNN_POINTWISE_MIN, Pointwise::CUDNN_POINTWISE_SUB,
                            Pointwise::CUDNN_POINTWISE_DIV})
        if (mode == static_cast<int>(known))
            return true;
    return false;
}

int checkPointwise(const Object& op) {
    const Object& pointwise =
        *op.reference(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    if (!floatMath(pointwise, Attribute::CUDNN_ATTR_POINTWISE_MATH_PREC))
        return bad("the type of a pointwise operation");
    const bool two = takesTwo(pointwise.one<int>(Attribute::CUDNN_ATTR_POINTWISE_MODE, -1));
    if (two != (op.find(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != nullptr))
        return bad("a pointwise operation has another number of operands");
    const Numbers x = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                  y = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (x != y)
        return bad("a pointwise operation's first operand is broadcast");
    if (!two)
        return DnnSuccess;
    const Numbers b = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    if (b.size() != x.size())
        return bad("ranks of a pointwise operation");
    for (size_t d = 0; d < x.size(); ++d)
        if (b[d] != 1 && b[d] != x[d])
            return bad("an operand of a pointwise operation does not broadcast");
    return DnnSuccess;
}

int checkMatMul(const Object& op) {
    const Numbers a = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const Numbers b = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    const Numbers c = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    if (a.size() != c.size() || b.size() != c.size() || c.size() < 3)
        return bad("ranks of a matrix product");
    const size_t m = c.size() - 2, n = c.size() - 1;
    for (size_t d = 0; d < m; ++d)
        if ((a[d] != c[d] && a[d] != 1) || (b[d] != c[d] && b[d] != 1))
            return bad("batches of a matrix product");
    if (a[m] != c[m] || b[n] != c[n] || a[n] != b[m])
        return bad("extents of a matrix product");
    return checkSums(op, Attribute::CUDNN_ATTR_OPERATION_MATMUL_ADESC,
                     Attribute::CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                     *op.reference(Attribute::CUDNN_ATTR_OPERATION_MATMUL_DESC),
                     Attribute::CUDNN_ATTR_MATMUL_COMP_TYPE);
}

int checkReduction(const Object& op) {
    const Numbers x = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    const Numbers y = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    if (x.size() != y.size())
        return bad("ranks of a reduction");
    for (size_t d = 0; d < x.size(); ++d)
        if (y[d] != x[d] && y[d] != 1)
            return bad("extents of a reduction");
    return DnnSuccess;
}

int checkAttention(const Object& op) {
    const Numbers q = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC),
                  k = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC);
    const Numbers v = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC),
                  o = dimsOf(op, Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC);
    for (const Numbers* dims : {&q, &k, &v, &o})
        if (dims->size() != 4 || (*dims)[0] != q[0] || (*dims)[1] != q[1])
            return bad("batch and heads of attention");
    if (q[3] != k[3] || k[2] != v[2] || o[2] != q[2] || o[3] != v[3])
        return bad("extents of attention");
    if (const ObjectPtr scale = op.reference(Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC)) {
        const GraphTensor tensor = tensorOf(*scale);
        if (!tensor.byValue || countOf(tensor.layout.extents) != 1 ||
            tensor.layout.type != Element::Float32)
            return bad("the scale of attention is one float that the host passes");
    }
    return DnnSuccess;
}

bool same(const GraphTensor& a, const GraphTensor& b) {
    return a.layout.type == b.layout.type && a.layout.extents == b.layout.extents &&
           a.layout.strides == b.layout.strides && a.isVirtual == b.isVirtual &&
           a.byValue == b.byValue;
}

/// Whether tensors lead from the first operation to all others.
bool isConnected(const PlannedGraph& graph) {
    std::set<int64_t> reached;
    std::vector<bool> seen(graph.operations.size(), false);
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t i = 0; i < seen.size(); ++i) {
            const GraphOperation& operation = graph.operations[i];
            const bool touches =
                i == 0 || reached.count(operation.output) != 0 ||
                std::any_of(operation.inputs.begin(), operation.inputs.end(),
                            [&](int64_t input) { return reached.count(input) != 0; });
            if (seen[i] || !touches)
                continue;
            seen[i] = grows = true;
            reached.insert(operation.output);
            reached.insert(operation.inputs.begin(), operation.inputs.end());
        }
    }
    return std::all_of(seen.begin(), seen.end(), [](bool x) { return x; });
}

/// Operations in order with their tensors by unique id; each is read after it is written.
int checkGraph(Object& graph) {
    auto out = std::make_shared<PlannedGraph>();
    std::set<int64_t> written, read;
    for (const ObjectPtr& object :
         graph.find(Attribute::CUDNN_ATTR_OPERATIONGRAPH_OPS)->references) {
        const Ends* ends = endsOf(object->kind);
        if (ends == nullptr)
            return bad("a graph is made of operations");
        GraphOperation operation{object, {}, 0};
        auto note = [&](Attribute attribute) -> std::optional<int64_t> {
            const ObjectPtr from = object->reference(attribute);
            if (from == nullptr || from->kind != Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)
                return std::nullopt;
            const GraphTensor tensor = tensorOf(*from);
            auto [known, fresh] = out->tensors.emplace(tensor.id, tensor);
            return fresh || same(known->second, tensor) ? std::optional(tensor.id) : std::nullopt;
        };
        for (Attribute attribute : ends->reads) {
            if (object->find(attribute) == nullptr)
                continue;
            const std::optional<int64_t> id = note(attribute);
            if (!id)
                return bad("two tensors have one unique id");
            if (out->tensors[*id].isVirtual && written.count(*id) == 0)
                return bad("a virtual tensor is read before it is written");
            operation.inputs.push_back(*id);
            read.insert(*id);
        }
        const std::optional<int64_t> id = note(ends->writes);
        if (!id || !written.insert(*id).second || read.count(*id) != 0)
            return bad("a tensor is written twice, or after it was read");
        operation.output = *id;
        out->operations.push_back(std::move(operation));
    }
    for (const auto& [id, tensor] : out->tensors)
        if (tensor.isVirtual && read.count(id) == 0)
            return bad("a virtual tensor that nothing reads");
    if (!isConnected(*out))
        return bad("the graph is not connected");
    graph.graph = std::move(out);
    return DnnSuccess;
}

int checkPack(const Object& pack) {
    const Numbers ids = pack.list<int64_t>(Attribute::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size() ||
        pack.list<void*>(Attribute::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size() != ids.size())
        return bad("unique ids and pointers of a pack");
    return DnnSuccess;
}

int checkHeuristics(Object& object) {
    const fakecuda::Call call("cudnn heuristics", fakecuda::Call::Needs::Nothing);
    if (call.code() != 0)
        return refuse(call.code(), "the heuristics were told to fail");
    const ObjectPtr graph = object.reference(Attribute::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const auto mode =
        static_cast<dnn::Heuristics>(object.one<int>(Attribute::CUDNN_ATTR_ENGINEHEUR_MODE, -1));
    std::vector<ObjectPtr> found = configurationsOf(graph, mode);
    if (found.empty())
        return refuse(lastWords() == "layout" ? DnnLayout : DnnNotSupported,
                      "no engine for the graph: " + lastWords());
    object.refer(Attribute::CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(found));
    return DnnSuccess;
}

} // namespace

Element elementOf(int type) {
    switch (static_cast<dnn::DataType>(type)) {
    case dnn::DataType::CUDNN_DATA_HALF:
        return Element::Float16;
    case dnn::DataType::CUDNN_DATA_BFLOAT16:
        return Element::BFloat16;
    case dnn::DataType::CUDNN_DATA_INT8:
        return Element::Int8;
    case dnn::DataType::CUDNN_DATA_UINT8:
        return Element::UInt8;
    case dnn::DataType::CUDNN_DATA_INT32:
        return Element::Int32;
    case dnn::DataType::CUDNN_DATA_FLOAT:
        break;
    }
    return Element::Float32;
}

GraphTensor tensorOf(const Object& x) {
    GraphTensor out;
    out.id = x.one<int64_t>(Attribute::CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    out.layout = {elementOf(x.one<int>(Attribute::CUDNN_ATTR_TENSOR_DATA_TYPE, 0)),
                  x.list<int64_t>(Attribute::CUDNN_ATTR_TENSOR_DIMENSIONS),
                  x.list<int64_t>(Attribute::CUDNN_ATTR_TENSOR_STRIDES)};
    out.isVirtual = x.one<char>(Attribute::CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) != 0;
    out.byValue = x.one<char>(Attribute::CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0) != 0;
    out.alignment = x.one<int64_t>(Attribute::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
    return out;
}

const Ends* endsOf(Kind kind) {
    static const std::map<Kind, Ends> table = {
        {Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         {{Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
           Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
          Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
        {Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
         {{Attribute::CUDNN_ATTR_OPERATION_MATMUL_ADESC,
           Attribute::CUDNN_ATTR_OPERATION_MATMUL_BDESC},
          Attribute::CUDNN_ATTR_OPERATION_MATMUL_CDESC}},
        {Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
         {{Attribute::CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
           Attribute::CUDNN_ATTR_OPERATION_POINTWISE_BDESC},
          Attribute::CUDNN_ATTR_OPERATION_POINTWISE_YDESC}},
        {Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
         {{Attribute::CUDNN_ATTR_OPERATION_REDUCTION_XDESC},
          Attribute::CUDNN_ATTR_OPERATION_REDUCTION_YDESC}},
        {Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
         {{Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,
           Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
           Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
           Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC},
          Attribute::CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC}},
    };
    auto found = table.find(kind);
    return found == table.end() ? nullptr : &found->second;
}

int finish(Object& object) {
    if (object.finished)
        return DnnSuccess;
    if (const int attribute = lacking(object); attribute >= 0)
        return bad("attribute " + std::to_string(attribute) + " is not set");
    int status = DnnSuccess;
    switch (object.kind) {
    case Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        status = checkTensor(object);
        break;
    case Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        status = checkConvolution(object);
        break;
    case Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        status = checkConvolutionForward(object);
        break;
    case Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        status = checkPointwise(object);
        break;
    case Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        status = checkMatMul(object);
        break;
    case Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        status = checkReduction(object);
        break;
    case Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
        status = checkAttention(object);
        break;
    case Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        status = checkGraph(object);
        break;
    case Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        status = checkHeuristics(object);
        break;
    case Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        status = finishPlan(object);
        break;
    case Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        status = checkPack(object);
        break;
    default:
        break;
    }
    object.finished = status == DnnSuccess;
    return status;
}

} // namespace fakelibs
