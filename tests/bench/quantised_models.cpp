// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/quantised_models.h"

#include "app/quantize/quantize.h"
#include "app/zoo/builder.h"
#include "app/zoo/zoo.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fuselage::bench {

namespace {

/// Symbols that stand for anything but a batch, which is 1.
constexpr int64_t tokens = 128;

Result<void> saveAt(const Graph& graph, const std::string& path) {
    auto saved = model_io::save(graph, path);
    return saved ? Result<void>() : failure(saved.error());
}

/// Of the zoo, or three convolutions in a row.
Result<Graph> floatGraph(const std::string& name) {
    if (name != "convolutions") {
        auto out = zoo::build(name);
        if (out)
            bindAllDimensions(*out, {{"N", 1}}, tokens);
        return out;
    }
    constexpr int64_t channels = 64, side = 56;
    zoo::Builder b("convolutions", 1);
    ValueId x = b.input("x", DType::Float32, {1, channels, side, side});
    for (const char* layer : {"first", "second", "third"})
        x = b.apply(Op::Relu, {b.conv(layer, x, {channels, channels, 3, 1, 1, 1, true})});
    b.output(x, "y");
    return b.finish();
}

/// With pairs wherever rules ask for them; ranges of one generated set.
Result<void> writePairs(const QuantisedModel& model, quantize::StoredType type,
                        const app::RuleLibrary& library) {
    Progress progress;
    app::ModelRequest request{model.floats, {}};
    request.keepSymbols = true;
    auto loaded = app::loadModel(request, progress);
    if (!loaded)
        return failure(loaded.error());
    quantize::QuantizeOptions options;
    options.fuse.decide = Decide::Rules;
    options.type = type;
    options.check = false;
    auto done = quantize::quantizeModel(*loaded, library, quantize::InputSets::generated(1, 1),
                                        options, progress);
    return done ? saveAt(done->graph, model.file) : failure(done.error());
}

/// The weights in int8, one scale for all, as dynamic quantisers store them.
std::pair<TensorPtr, TensorPtr> storedWhole(const Tensor& weights) {
    double largest = 0;
    for (float number : weights.as<float>())
        largest = std::max(largest, std::abs(static_cast<double>(number)));
    constexpr double steps = 127;
    auto scale = std::make_shared<Tensor>(DType::Float32, Extents{});
    scale->set(0, largest / steps);
    auto codes = std::make_shared<Tensor>(DType::Int8, weights.extents());
    for (int64_t i = 0; i < weights.elementCount(); ++i)
        codes->setInt(i, static_cast<int64_t>(std::nearbyint(weights.at(i) / scale->at(0))));
    return {codes, scale};
}

/// Every product with constant weights becomes one of integers whose left side is quantised when
/// it runs.
void storeDynamically(Graph& graph) {
    std::map<ValueId, std::vector<ValueId>> stored; // by what is stored
    for (NodeId id : topologicalOrder(graph)) {
        const Node node = graph.node(id);
        if (node.op != Op::MatMul || !graph.isConstant(node.inputs[1]) ||
            graph.value(node.inputs[1]).constant->rank() != 2)
            continue;
        const auto made = [&](Op op, const char* suffix, std::vector<ValueId> inputs,
                              std::vector<std::string> outputs, Attributes attributes = {}) {
            const NodeId added = graph.addNode({op,
                                                node.name + suffix,
                                                std::move(inputs),
                                                std::move(outputs),
                                                std::move(attributes),
                                                {}});
            return graph.node(added).outputs;
        };
        std::vector<ValueId>& x = stored[node.inputs[0]];
        if (x.empty())
            x = made(Op::DynamicQuantizeLinear, "_store", {node.inputs[0]},
                     {node.name + "_x", node.name + "_x_scale", node.name + "_x_zero"});
        const auto [codes, scale] = storedWhole(*graph.value(node.inputs[1]).constant);
        auto zero = std::make_shared<Tensor>(DType::Int8, Extents{});
        const ValueId w = graph.addConstant(node.name + "_w", codes);
        const ValueId sums = made(Op::MatMulInteger, "_sums",
                                  {x[0], w, x[2], graph.addConstant(node.name + "_w_zero", zero)},
                                  {node.name + "_s"})[0];
        Attributes toFloat;
        toFloat.set("to", onnxNumber(DType::Float32));
        const ValueId floats =
            made(Op::Cast, "_cast", {sums}, {node.name + "_f"}, std::move(toFloat))[0];
        const ValueId scales =
            made(Op::Mul, "_scales", {x[1], graph.addConstant(node.name + "_w_scale", scale)},
                 {node.name + "_c"})[0];
        const ValueId result = made(Op::Mul, "_scaled", {floats, scales}, {node.name + "_y"})[0];
        graph.replaceUses(node.outputs[0], result);
        graph.removeNode(id);
    }
    graph.removeDead();
    inferShapes(graph);
}

constexpr int64_t width = 4096, block = 32;

/// A product of one row, float, and with weights of 4 bits as a MatMulNBits or a DequantizeLinear.
Result<QuantisedModel> makeRow(QuantisedModel out, bool isOperator) {
    zoo::Builder b("row", 1);
    const ValueId x = b.input("x", DType::Float32, {1, width});
    const Tensor weights = b.weightData("w", {width, width}, 1.0 / 64);
    b.output(b.apply(Op::MatMul, {x, b.table("w", weights.clone())}), "y");
    if (auto saved = saveAt(b.finish(), out.floats); !saved)
        return failure(saved.error());
    constexpr int64_t blocks = width / block;
    Tensor scales(DType::Float32, isOperator ? Extents{width * blocks} : Extents{blocks, width});
    Tensor codes(isOperator ? DType::UInt8 : DType::Int4,
                 isOperator ? Extents{width, blocks, block / 2} : Extents{width, width});
    const auto scaleAt = [&](int64_t column, int64_t part) {
        return isOperator ? column * blocks + part : part * width + column;
    };
    for (int64_t column = 0; column < width; ++column)
        for (int64_t part = 0; part < blocks; ++part) {
            const auto number = [&](int64_t k) {
                return weights.at((part * block + k) * width + column);
            };
            double largest = 0;
            for (int64_t k = 0; k < block; ++k)
                largest = std::max(largest, std::abs(number(k)));
            scales.set(scaleAt(column, part), largest / 7);
            const double scale = scales.at(scaleAt(column, part));
            const auto code = [&](int64_t k) {
                return static_cast<int64_t>(std::nearbyint(number(k) / scale));
            };
            for (int64_t k = 0; k < block; ++k)
                if (!isOperator)
                    codes.setInt((part * block + k) * width + column, code(k));
                else if (k % 2 == 0)
                    codes.setInt((column * blocks + part) * (block / 2) + k / 2,
                                 (code(k) + 8) | (code(k + 1) + 8) << 4);
        }
    zoo::Builder stored("row", 1);
    const ValueId from = stored.input("x", DType::Float32, {1, width});
    const std::vector<ValueId> constants{stored.table("codes", std::move(codes)),
                                         stored.table("scales", std::move(scales))};
    Attributes attributes;
    ValueId y;
    if (isOperator) {
        attributes.set("K", width);
        attributes.set("N", width);
        attributes.set("bits", int64_t{4});
        attributes.set("block_size", block);
        y = stored.applyForeign("com.microsoft", "MatMulNBits", {from, constants[0], constants[1]},
                                {true}, std::move(attributes))[0];
    } else {
        attributes.set("axis", int64_t{0});
        attributes.set("block_size", block);
        y = stored.apply(Op::MatMul, {from, stored.apply(Op::DequantizeLinear, constants,
                                                         std::move(attributes))});
    }
    stored.output(y, "y");
    if (auto saved = saveAt(stored.finish(), out.file); !saved)
        return failure(saved.error());
    out.reads = width * width / 2 + width * blocks * 4;
    return out;
}

struct Wanted {
    const char* name;
    const char* graph;                        ///< of floatGraph(); null: a row of its own
    std::optional<quantize::StoredType> type; ///< none: dynamically
    double ofFloat, ofRuntime, ofReading;
};

using quantize::StoredType;

constexpr Wanted wanted[] = {
    {"resnet50 int8", "resnet50", StoredType::Int8, 0.55, 1, 0},
    {"resnet50 uint8", "resnet50", StoredType::UInt8, 0.55, 1, 0},
    {"three convolutions int8", "convolutions", StoredType::Int8, 0, 1, 0},
    {"three convolutions uint8", "convolutions", StoredType::UInt8, 0, 1, 0},
    {"bert_base dynamic int8", "bert_base", std::nullopt, 0, 1, 0},
    {"mobilenet_v3_large int8", "mobilenet_v3_large", StoredType::Int8, 1, 0, 0},
    {"MatMulNBits 4096", nullptr, std::nullopt, 0, 0, 0.8},
    {"int4 pair 4096", nullptr, std::nullopt, 0, 0, 0.8},
};

} // namespace

std::vector<std::string> quantisedNames() {
    std::vector<std::string> out;
    for (const Wanted& row : wanted)
        out.emplace_back(row.name);
    return out;
}

Result<QuantisedModel> makeQuantised(const std::string& name, const app::RuleLibrary& library,
                                     const std::string& folder) {
    const auto* row = std::find_if(std::begin(wanted), std::end(wanted),
                                   [&](const Wanted& one) { return name == one.name; });
    if (row == std::end(wanted))
        return failure("bench.name", "no quantised model is called so", name,
                       "a name of the table");
    QuantisedModel out{name,
                       folder + "/quantised.onnx",
                       folder + "/float.onnx",
                       row->ofFloat,
                       row->ofRuntime,
                       0,
                       row->ofReading};
    if (!row->graph)
        return makeRow(std::move(out), name.starts_with("MatMulNBits"));
    auto graph = floatGraph(row->graph);
    if (!graph)
        return failure(graph.error());
    if (auto saved = saveAt(*graph, out.floats); !saved)
        return failure(saved.error());
    if (row->type) {
        if (auto written = writePairs(out, *row->type, library); !written)
            return failure(written.error());
        return out;
    }
    storeDynamically(*graph);
    if (auto saved = saveAt(*graph, out.file); !saved)
        return failure(saved.error());
    return out;
}

} // namespace fuselage::bench
