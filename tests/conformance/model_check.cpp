// SPDX-License-Identifier: Apache-2.0
// `model_check`: real exports through load and prepareGraph: nodes before and after, shape
// arithmetic that is left, values whose type is not known. With --run NAME the prepared graph is
// interpreted and compared with the stored outputs, with --raw NAME the graph as loaded. Exit code
// 77: no models here.
#include "core/onnx/model_file.h"
#include "core/onnx/value_file.h"
#include "core/passes/passes.h"
#include "core/plan/backend.h"
#include "tests/conformance/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

using namespace fuselage;
namespace fs = std::filesystem;

namespace {

struct Findings {
    size_t shapeNodes = 0;   ///< Shape, Size and integer arithmetic behind them
    size_t unknownTypes = 0; ///< values without element type, rank or dimension
    size_t openOperands = 0; ///< Reshape, Slice, Expand with a computed operand
    std::map<std::string, size_t> left;
};

/// Operands that say which shape; they should be constants.
bool takesShapeOperands(Op op) {
    return op == Op::Reshape || op == Op::Slice || op == Op::Expand || op == Op::Tile ||
           op == Op::Pad || op == Op::Unsqueeze || op == Op::Squeeze;
}

bool isSmallInteger(const Type& type) {
    return isInteger(type.dtype) && type.shape && type.rank() <= 1;
}

bool isKnown(const Type& type) {
    if (type.kind != TypeKind::Tensor)
        return true;
    if (type.dtype == DType::Undefined || !type.shape)
        return false;
    return std::none_of(type.shape->begin(), type.shape->end(),
                        [](const Dim& dim) { return dim.isUnknown(); });
}

Findings inspect(const Graph& graph, bool verbose) {
    Findings out;
    for (NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        const bool onShapes = node.op == Op::Shape || node.op == Op::Size ||
                              (!node.outputs.empty() && node.outputs[0].valid() &&
                               isSmallInteger(graph.value(node.outputs[0]).type));
        if (onShapes) {
            ++out.shapeNodes;
            ++out.left[nameOf(node.op)];
        }
        for (uint32_t i = 1; i < node.explicitInputs && takesShapeOperands(node.op); ++i)
            if (node.inputs[i].valid() && !graph.isConstant(node.inputs[i])) {
                ++out.openOperands;
                if (verbose)
                    fmt::print("    {} `{}` input {} `{}` contents {}\n", nameOf(node.op),
                               node.name, i, graph.value(node.inputs[i]).name,
                               graph.value(node.inputs[i]).symbolicContents
                                   ? text(*graph.value(node.inputs[i]).symbolicContents)
                                   : "unknown");
            }
        for (ValueId output : node.outputs)
            if (output.valid() && !isKnown(graph.value(output).type)) {
                ++out.unknownTypes;
                if (verbose)
                    fmt::print("    {} `{}`: `{}` is {}\n", nameOf(node.op), node.name,
                               graph.value(output).name, graph.value(output).type.text());
            }
    }
    return out;
}

/// Values whose extents are still not numbers when every input dimension is one.
size_t dynamicValues(Graph graph, bool verbose) {
    Progress progress;
    bindAllDimensions(graph, {});
    if (!prepareGraph(graph, progress))
        return graph.valueBound();
    size_t out = 0;
    for (NodeId id : graph.nodes())
        for (ValueId output : graph.node(id).outputs)
            if (output.valid() && graph.value(output).type.kind == TypeKind::Tensor &&
                !graph.value(output).type.extents()) {
                ++out;
                if (verbose && out < 20)
                    fmt::print("    with all dimensions 1, {} `{}` is {}\n",
                               nameOf(graph.node(id).op), graph.value(output).name,
                               graph.value(output).type.text());
            }
    return out;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::optional<std::string> compareRun(const Graph& graph, const fs::path& data) {
    std::vector<ReferenceValue> inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        auto value =
            model_io::loadValue((data / fmt::format("input_{}.pb", i)).string(), TypeKind::Tensor);
        if (!value)
            return value.error().text();
        inputs.push_back(std::move(*value));
    }
    ThreadPool threads;
    Progress progress;
    auto outputs = interpret(graph, std::move(inputs), threads, progress);
    if (!outputs)
        return outputs.error().text();
    for (size_t i = 0; i < outputs->size(); ++i) {
        auto expected =
            model_io::loadValue((data / fmt::format("output_{}.pb", i)).string(), TypeKind::Tensor);
        if (!expected)
            return expected.error().text();
        double largest = 0;
        for (double x : expected->floats)
            largest = std::max(largest, std::fabs(x));
        if (auto found = conformance::difference((*outputs)[i], *expected, {1e-3, 5e-4 * largest}))
            return fmt::format("output {}: {}", i, *found);
    }
    return std::nullopt;
}

enum class Mode { Prepare, RunPrepared, RunRaw };

bool check(const fs::path& path, bool verbose, Mode mode) {
    Progress progress;
    auto start = std::chrono::steady_clock::now();
    auto graph = model_io::load(path.string(), {}, progress);
    const std::string name = path.stem().string();
    if (!graph) {
        fmt::print("{:<42} FAILED {}\n", name, graph.error().text());
        return false;
    }
    const double loaded = secondsSince(start);
    const size_t before = graph->nodeCount();
    const Graph raw = graph->clone();
    start = std::chrono::steady_clock::now();
    if (auto prepared = prepareGraph(*graph, progress); !prepared) {
        fmt::print("{:<42} FAILED {}\n", name, prepared.error().text());
        return false;
    }
    const double seconds = secondsSince(start);
    const Findings found = inspect(*graph, verbose);
    std::string left;
    for (const auto& [op, count] : found.left)
        left += fmt::format(" {} {}", count, op);
    fmt::print("{:<42}{:>6} -> {:>5}  load {:>5.2f} s  prepare {:>5.2f} s  shape nodes {:>3}  "
               "open operands {:>3}  unknown types {:>3}  dynamic when bound {:>3} {}\n",
               name, before, graph->nodeCount(), loaded, seconds, found.shapeNodes,
               found.openOperands, found.unknownTypes, dynamicValues(graph->clone(), verbose),
               left);
    if (mode != Mode::Prepare) {
        auto wrong =
            compareRun(mode == Mode::RunRaw ? raw : *graph, path.parent_path() / (name + "_data"));
        fmt::print("{:<42}{}\n", "", wrong ? "DIFFERS " + *wrong : "agrees with the stored output");
        return !wrong;
    }
    return found.unknownTypes == 0;
}

} // namespace

int main(int argc, char** argv) {
    std::string folder, only;
    bool verbose = false;
    Mode mode = Mode::Prepare;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--models" && i + 1 < argc)
            folder = argv[++i];
        else if ((word == "--only" || word == "--run" || word == "--raw") && i + 1 < argc) {
            mode = word == "--run"   ? Mode::RunPrepared
                   : word == "--raw" ? Mode::RunRaw
                                     : Mode::Prepare;
            only = argv[++i];
        } else
            verbose = true;
    }
    std::vector<fs::path> paths;
    std::error_code failed;
    if (!folder.empty())
        for (const auto& entry : fs::directory_iterator(folder, failed))
            if (entry.path().extension() == ".onnx" &&
                entry.path().filename().string().starts_with(only))
                paths.push_back(entry.path());
    if (paths.empty()) {
        fmt::print("skipped: no models (set FUSELAGE_MODELS to a folder of .onnx files)\n");
        return 77;
    }
    std::sort(paths.begin(), paths.end());
    bool good = true;
    for (const fs::path& path : paths)
        good = check(path, verbose, mode) && good;
    return good ? 0 : 1;
}
