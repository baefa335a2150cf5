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
    return tensor.layout.type != Element::Float32;
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
    const ObjectPtr pointwise =
        graph.operations[operation].object->reference(Attribute::PointwiseDescriptor);
    return pointwise ? pointwise->one<int>(Attribute::PointwiseMode, -1) : -1;
}

bool onlyPointwiseAfter(const PlannedGraph& graph, size_t first) {
    for (size_t i = first; i < graph.operations.size(); ++i)
        if (kindAt(graph, i) != Kind::OperationPointwise)
            return false;
    return true;
}

bool isConvolution(const PlannedGraph& graph) {
    return kindAt(graph, 0) == Kind::OperationConvolutionForward && onlyPointwiseAfter(graph, 1);
}

bool isProduct(const PlannedGraph& graph) {
    return kindAt(graph, 0) == Kind::OperationMatMul && onlyPointwiseAfter(graph, 1);
}

/// A convolution, a bias of its operands' type, a plain ReLU.
bool comesCompiled(const PlannedGraph& graph) {
    if (!isConvolution(graph) || graph.operations.size() > 3)
        return false;
    if (graph.operations.size() > 1 &&
        (modeAt(graph, 1) != static_cast<int>(dnn::Pointwise::Add) ||
         countOf(tensorAt(graph, 1, 1).layout.extents) != tensorAt(graph, 1, 1).layout.extents[1] ||
         tensorAt(graph, 1, 1).layout.type != tensorAt(graph, 0, 0).layout.type))
        return false;
    return graph.operations.size() < 3 ||
           modeAt(graph, 2) == static_cast<int>(dnn::Pointwise::Relu);
}

bool compiles(const PlannedGraph& graph) {
    if (isConvolution(graph) && !channelsLast(graph))
        return refuse(0, "layout"), false;
    return isConvolution(graph) || isProduct(graph);
}

bool isWinograd(const PlannedGraph& graph) {
    if (!isConvolution(graph) || graph.operations.size() > 1)
        return false;
    const Numbers& w = tensorAt(graph, 0, 1).layout.extents;
    return w.size() == 4 && w[2] == 3 && w[3] == 3;
}

bool isAttention(const PlannedGraph& graph) {
    if (graph.operations.size() != 1 || kindAt(graph, 0) != Kind::OperationSdpaForward)
        return false;
    const Numbers& q = tensorAt(graph, 0, 0).layout.extents;
    return isHalf(tensorAt(graph, 0, 0)) && q[3] % 8 == 0 && q[3] <= 128;
}

/// Product, scale, masks, maximum, difference, exponential, sum, quotient, product. The quotient is
/// in 16 bits, the scale lies in memory, heads have 64 channels.
bool isAttentionOfParts(const PlannedGraph& graph) {
    const size_t count = graph.operations.size();
    if (count < 8 || kindAt(graph, 0) != Kind::OperationMatMul ||
        modeAt(graph, 1) != static_cast<int>(dnn::Pointwise::Multiply))
        return false;
    size_t at = 2;
    while (at < count && modeAt(graph, at) == static_cast<int>(dnn::Pointwise::Add))
        ++at;
    if (at + 6 != count || kindAt(graph, at) != Kind::OperationReduction ||
        modeAt(graph, at + 1) != static_cast<int>(dnn::Pointwise::Subtract) ||
        modeAt(graph, at + 2) != static_cast<int>(dnn::Pointwise::Exp) ||
        kindAt(graph, at + 3) != Kind::OperationReduction ||
        modeAt(graph, at + 4) != static_cast<int>(dnn::Pointwise::Divide) ||
        kindAt(graph, at + 5) != Kind::OperationMatMul)
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
    dnn::Heuristics mode = dnn::Heuristics::A;
};

const std::vector<Engine>& engines() {
    static const std::vector<Engine> table = {
        {1, comesCompiled, {}, {}, {{Knob::TileSize, 13}, {Knob::Stages, 4}}, 0},
        {10, compiles, {}, {BehaviorNote::RuntimeCompilation}, {{Knob::TileM, 128}}, 1024},
        {10, compiles, {}, {BehaviorNote::RuntimeCompilation}, {{Knob::TileM, 64}}, 0},
        {5, isAttention, {}, {}, {}, 256},
        {6, isAttentionOfParts, {}, {BehaviorNote::RuntimeCompilation}, {}, 0},
        {21, isWinograd, {NumericalNote::Winograd}, {}, {}, 0},
        {22, isWinograd, {NumericalNote::Nondeterministic}, {}, {{Knob::SplitKSlices, 2}}, 2048},
        {30, comesCompiled, {}, {BehaviorNote::FilterReorder}, {}, 0},
        {90, isProduct, {}, {}, {}, 0, dnn::Heuristics::Fallback},
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
    engine->kind = Kind::Engine;
    engine->finished = true;
    engine->put<int64_t>(Attribute::EngineGlobalIndex, Type::Int64, {from.index});
    std::vector<int> numeric = codes(from.numeric);
    if (isHalf(tensorAt(*graph->graph, 0, 0)))
        numeric.push_back(static_cast<int>(NumericalNote::TensorCore));
    engine->put(Attribute::EngineNumericalNotes, Type::NumericalNote, numeric);
    engine->put(Attribute::EngineBehaviorNotes, Type::BehaviorNote, codes(from.behavior));
    auto out = std::make_shared<Object>();
    out->kind = Kind::EngineConfig;
    out->finished = true;
    out->graph = graph->graph;
    out->refer(Attribute::ConfigEngine, {engine});
    std::vector<ObjectPtr> choices;
    for (auto [knob, value] : from.knobs) {
        auto choice = std::make_shared<Object>();
        choice->kind = Kind::KnobChoice;
        choice->finished = true;
        choice->put<int>(Attribute::KnobChoiceType, Type::KnobType, {static_cast<int>(knob)});
        choice->put<int64_t>(Attribute::KnobChoiceValue, Type::Int64, {value});
        choices.push_back(std::move(choice));
    }
    out->refer(Attribute::ConfigKnobChoices, std::move(choices));
    out->put<int64_t>(Attribute::ConfigWorkspaceSize, Type::Int64, {from.workspace});
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
    if (plan.find(Attribute::PlanJson) != nullptr)
        return restorePlan(plan);
    const ObjectPtr configuration = plan.reference(Attribute::PlanEngineConfig);
    if (configuration == nullptr)
        return refuse(DnnBadParam, "a plan without a configuration");
    const auto index = configuration->reference(Attribute::ConfigEngine)
                           ->one<int64_t>(Attribute::EngineGlobalIndex, -1);
    const std::string name = "cudnn plan e" + std::to_string(index);
    const fakecuda::Call call(name.c_str(), fakecuda::Call::Needs::Nothing);
    if (call.code() != 0)
        return refuse(call.code(), "this engine was told to fail");
    plan.graph = configuration->graph;
    plan.put<int64_t>(Attribute::PlanWorkspaceSize, Type::Int64,
                      configuration->list<int64_t>(Attribute::ConfigWorkspaceSize));
    keepText(plan);
    return DnnSuccess;
}

} // namespace fakelibs
