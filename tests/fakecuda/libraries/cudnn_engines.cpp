// SPDX-License-Identifier: Apache-2.0
// The engines of the stand-in for cuDNN: which graphs each takes, its notes, knobs and workspace.
// They stand for what was seen of the real one: kernels that come compiled for a few chains, one
// engine that compiles for many, notes that must drop a candidate.
#include "tests/fakecuda/fake_state.h"
#include "tests/fakecuda/libraries/cudnn_check.h"

#include <algorithm>

namespace fakelibs {

namespace {

using dnn::Attribute;
using dnn::BehaviorNote;
using dnn::Kind;
using dnn::Knob;
using dnn::NumericalNote;
using dnn::Type;

const GraphTensor& tensorAt(const PlannedGraph& graph, size_t operation, size_t input) {
    return graph.tensors.at(graph.operations[operation].inputs.at(input));
}

bool isHalf(const GraphTensor& tensor) {
    return tensor.layout.type == Element::Float16 || tensor.layout.type == Element::BFloat16;
}

bool isByte(const GraphTensor& tensor) {
    return tensor.layout.type == Element::Int8;
}

bool channelsLast(const PlannedGraph& graph) {
    return std::all_of(graph.tensors.begin(), graph.tensors.end(), [](const auto& entry) {
        const Strided& layout = entry.second.layout;
        return entry.second.isVirtual || layout.extents[1] == 1 || layout.strides[1] == 1;
    });
}

Kind kindAt(const PlannedGraph& graph, size_t operation) {
    return graph.operations[operation].object->kind;
}

int modeAt(const PlannedGraph& graph, size_t operation) {
    const ObjectPtr pointwise = graph.operations[operation].object->reference(
        Attribute::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    return pointwise ? pointwise->one<int>(Attribute::CUDNN_ATTR_POINTWISE_MODE, -1) : -1;
}

bool onlyPointwiseAfter(const PlannedGraph& graph, size_t first) {
    for (size_t i = first; i < graph.operations.size(); ++i)
        if (kindAt(graph, i) != Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            return false;
    return true;
}

bool isConvolution(const PlannedGraph& graph) {
    return kindAt(graph, 0) == Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
           onlyPointwiseAfter(graph, 1);
}

bool isProduct(const PlannedGraph& graph) {
    return kindAt(graph, 0) == Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
           onlyPointwiseAfter(graph, 1);
}

/// A convolution, a bias of its operands' type, a plain ReLU.
bool comesCompiled(const PlannedGraph& graph) {
    if (!isConvolution(graph) || graph.operations.size() > 3 || isByte(tensorAt(graph, 0, 0)))
        return false;
    if (graph.operations.size() > 1 &&
        (modeAt(graph, 1) != static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_ADD) ||
         countOf(tensorAt(graph, 1, 1).layout.extents) != tensorAt(graph, 1, 1).layout.extents[1] ||
         tensorAt(graph, 1, 1).layout.type != tensorAt(graph, 0, 0).layout.type))
        return false;
    return graph.operations.size() < 3 ||
           modeAt(graph, 2) == static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_RELU_FWD);
}

bool compiles(const PlannedGraph& graph) {
    if (isConvolution(graph) && !channelsLast(graph))
        return refuse(0, "layout"), false;
    if (isConvolution(graph) && isByte(tensorAt(graph, 0, 0)) &&
        tensorAt(graph, 0, 1).layout.extents[1] == 1)
        return refuse(0, "bytes with a channel a group"), false;
    return isConvolution(graph) || isProduct(graph);
}

bool isWinograd(const PlannedGraph& graph) {
    if (!isConvolution(graph) || graph.operations.size() > 1 || isByte(tensorAt(graph, 0, 0)))
        return false;
    const Numbers& w = tensorAt(graph, 0, 1).layout.extents;
    return w.size() == 4 && w[2] == 3 && w[3] == 3;
}

bool isAttention(const PlannedGraph& graph) {
    if (graph.operations.size() != 1 ||
        kindAt(graph, 0) != Kind::CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR)
        return false;
    const Numbers& q = tensorAt(graph, 0, 0).layout.extents;
    return isHalf(tensorAt(graph, 0, 0)) && q[3] % 8 == 0 && q[3] <= 128;
}

/// Product, scale, masks, maximum, difference, exponential, sum, quotient, product. The quotient is
/// in 16 bits, the scale lies in memory, heads have 64 channels.
bool isAttentionOfParts(const PlannedGraph& graph) {
    const size_t count = graph.operations.size();
    if (count < 8 || kindAt(graph, 0) != Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
        modeAt(graph, 1) != static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_MUL))
        return false;
    size_t at = 2;
    while (at < count && modeAt(graph, at) == static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_ADD))
        ++at;
    if (at + 6 != count ||
        kindAt(graph, at) != Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
        modeAt(graph, at + 1) != static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_SUB) ||
        modeAt(graph, at + 2) != static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_EXP) ||
        kindAt(graph, at + 3) != Kind::CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
        modeAt(graph, at + 4) != static_cast<int>(dnn::Pointwise::CUDNN_POINTWISE_DIV) ||
        kindAt(graph, at + 5) != Kind::CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        return false;
    return isHalf(tensorAt(graph, 0, 0)) && tensorAt(graph, 0, 0).layout.extents.back() == 64 &&
           !tensorAt(graph, 1, 1).byValue &&
           graph.tensors.at(graph.operations[at + 4].output).layout.type ==
               tensorAt(graph, 0, 0).layout.type;
}

struct Engine {
    int64_t index;
    bool (*takes)(const PlannedGraph&);
    std::vector<NumericalNote> numeric;
    std::vector<BehaviorNote> behavior;
    std::vector<std::pair<Knob, int64_t>> knobs;
    int64_t workspace; ///< bytes
    dnn::Heuristics mode = dnn::Heuristics::CUDNN_HEUR_MODE_A;
};

const std::vector<Engine>& engines() {
    static const std::vector<Engine> table = {
        {1,
         comesCompiled,
         {},
         {},
         {{Knob::CUDNN_KNOB_TYPE_TILE_SIZE, 13}, {Knob::CUDNN_KNOB_TYPE_STAGES, 4}},
         0},
        {10,
         compiles,
         {},
         {BehaviorNote::CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
         {{Knob::CUDNN_KNOB_TYPE_TILE_M, 128}},
         1024},
        {10,
         compiles,
         {},
         {BehaviorNote::CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
         {{Knob::CUDNN_KNOB_TYPE_TILE_M, 64}},
         0},
        {5, isAttention, {}, {}, {}, 256},
        {6, isAttentionOfParts, {}, {BehaviorNote::CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION}, {}, 0},
        {21, isWinograd, {NumericalNote::CUDNN_NUMERICAL_NOTE_WINOGRAD}, {}, {}, 0},
        {22,
         isWinograd,
         {NumericalNote::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
         {},
         {{Knob::CUDNN_KNOB_TYPE_SPLIT_K_SLC, 2}},
         2048},
        {30,
         comesCompiled,
         {},
         {BehaviorNote::CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER},
         {},
         0},
        {10, // both lists may have an engine
         compiles,
         {},
         {BehaviorNote::CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
         {{Knob::CUDNN_KNOB_TYPE_TILE_M, 64}},
         0,
         dnn::Heuristics::CUDNN_HEUR_MODE_FALLBACK},
        {90, isProduct, {}, {}, {}, 0, dnn::Heuristics::CUDNN_HEUR_MODE_FALLBACK},
    };
    return table;
}

template <typename T> std::vector<int> codes(const std::vector<T>& notes) {
    std::vector<int> out;
    for (T note : notes)
        out.push_back(static_cast<int>(note));
    return out;
}

ObjectPtr configuration(const Engine& from, const ObjectPtr& graph) {
    auto engine = std::make_shared<Object>();
    engine->kind = Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    engine->finished = true;
    engine->put<int64_t>(Attribute::CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Type::CUDNN_TYPE_INT64,
                         {from.index});
    std::vector<int> numeric = codes(from.numeric);
    if (isHalf(tensorAt(*graph->graph, 0, 0)))
        numeric.push_back(static_cast<int>(NumericalNote::CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
    engine->put(Attribute::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, Type::CUDNN_TYPE_NUMERICAL_NOTE,
                numeric);
    engine->put(Attribute::CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, Type::CUDNN_TYPE_BEHAVIOR_NOTE,
                codes(from.behavior));
    auto out = std::make_shared<Object>();
    out->kind = Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    out->finished = true;
    out->graph = graph->graph;
    out->refer(Attribute::CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
    std::vector<ObjectPtr> choices;
    for (auto [knob, value] : from.knobs) {
        auto choice = std::make_shared<Object>();
        choice->kind = Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
        choice->finished = true;
        choice->put<int>(Attribute::CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, Type::CUDNN_TYPE_KNOB_TYPE,
                         {static_cast<int>(knob)});
        choice->put<int64_t>(Attribute::CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, Type::CUDNN_TYPE_INT64,
                             {value});
        choices.push_back(std::move(choice));
    }
    out->refer(Attribute::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::move(choices));
    out->put<int64_t>(Attribute::CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, Type::CUDNN_TYPE_INT64,
                      {from.workspace});
    return out;
}

} // namespace

std::vector<ObjectPtr> configurationsOf(const ObjectPtr& graph, dnn::Heuristics mode) {
    std::vector<ObjectPtr> out;
    refuse(0, "unknown operations");
    for (const Engine& engine : engines())
        if (engine.mode == mode && engine.takes(*graph->graph))
            out.push_back(configuration(engine, graph));
    return out;
}

int finishPlan(Object& plan) {
    if (plan.find(Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) != nullptr)
        return restorePlan(plan);
    const ObjectPtr configuration =
        plan.reference(Attribute::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (configuration == nullptr)
        return refuse(DnnBadParam, "a plan without a configuration");
    const auto index = configuration->reference(Attribute::CUDNN_ATTR_ENGINECFG_ENGINE)
                           ->one<int64_t>(Attribute::CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
    const std::string name = "cudnn plan e" + std::to_string(index);
    const fakecuda::Call call(name.c_str(), fakecuda::Call::Needs::Nothing);
    if (call.code() != 0)
        return refuse(call.code(), "this engine was told to fail");
    plan.graph = configuration->graph;
    plan.put<int64_t>(Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, Type::CUDNN_TYPE_INT64,
                      configuration->list<int64_t>(Attribute::CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
    keepText(plan);
    return DnnSuccess;
}

} // namespace fakelibs
