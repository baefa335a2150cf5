// SPDX-License-Identifier: Apache-2.0
// fuselage inspect MODEL: operators, inputs and outputs, parameters, what is unknown.
#include "app/cli/command.h"
#include "app/cli/common_options.h"
#include "app/cli/console.h"
#include "app/cli/exit_codes.h"
#include "app/pipeline/model.h"
#include "app/pipeline/prepared.h"
#include "app/report/escape.h"
#include "app/report/format.h"
#include "core/graph/bodies.h"
#include "core/graph/text.h"
#include "core/onnx/outline.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace fuselage::cli {

namespace {

struct Options {
    std::string model;
    std::vector<std::string> dims;
    PrecisionTexts precision;
    std::string function;
    bool showGraph = false;
};

/// The graph itself, then its bodies.
std::vector<BodyPlace> allGraphs(const Graph& graph) {
    std::vector<BodyPlace> out{{"", &graph, nullptr, {}, "", 0}};
    for (BodyPlace& body : bodiesOf(graph))
        out.push_back(std::move(body));
    return out;
}

std::string operatorsText(const Graph& graph) {
    std::map<std::string, size_t> counts;
    for (const BodyPlace& place : allGraphs(graph))
        for (NodeId id : place.graph->nodes())
            ++counts[opText(place.graph->node(id))];
    std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    app::TextTable table({app::TextTable::Align::Left, app::TextTable::Align::Right});
    for (const auto& [op, count] : sorted)
        table.row({op, app::countText(static_cast<int64_t>(count))});
    return "operators\n" + table.text();
}

std::string valuesText(const Graph& graph, const std::string& title,
                       const std::vector<ValueId>& ids) {
    std::string out = title + "\n";
    for (ValueId id : ids)
        out += fmt::format("  {}: {}\n", app::visible(graph.value(id).name),
                           app::visible(graph.value(id).type.text()));
    return out;
}

std::string factsText(const Graph& graph, size_t fileNodes) {
    int64_t parameters = 0, bytes = 0;
    size_t unknown = 0;
    for (const BodyPlace& place : allGraphs(graph))
        for (ValueId id : place.graph->values()) {
            const Value& value = place.graph->value(id);
            if (value.constant) {
                parameters += value.constant->elementCount();
                bytes += static_cast<int64_t>(value.constant->byteCount());
            } else if (!value.type.shape) {
                ++unknown;
            }
        }
    const size_t all = countNodes(graph), inside = all - graph.nodeCount();
    return fmt::format("nodes {} in the file, {} after folding constants and shape arithmetic{}\n"
                       "parameters {} ({})\nvalues of unknown rank {}\n",
                       app::countText(static_cast<int64_t>(fileNodes)),
                       app::countText(static_cast<int64_t>(all)),
                       inside > 0 ? fmt::format(", {} of them in bodies", inside) : "",
                       app::countText(parameters), app::bytesText(bytes), unknown);
}

/// Their paths, which are what other commands call nodes in them by.
std::string bodiesText(const Graph& graph) {
    const std::vector<BodyPlace> bodies = bodiesOf(graph);
    if (bodies.empty())
        return {};
    app::TextTable table({app::TextTable::Align::Left, app::TextTable::Align::Right});
    std::string example;
    constexpr size_t shown = 24;
    size_t rows = 0;
    for (const BodyPlace& body : bodies) {
        if (++rows <= shown)
            table.row({body.path, fmt::format("{} nodes", body.graph->nodeCount())});
        if (example.empty() && body.graph->nodeCount() > 0)
            example = body.path + body.graph->node(topologicalOrder(*body.graph).front()).name;
    }
    const std::string more =
        rows > shown ? fmt::format("  and {} more, in --graph\n", rows - shown) : "";
    return "bodies of If, Loop and Scan\n" + table.text() + more +
           (example.empty() ? ""
                            : "  a node in one is called by its path: `explain --node " +
                                  app::visible(example) + "`\n");
}

/// Functions that the file brings, whose calls are read as their nodes.
std::string functionsText(const std::vector<model_io::FunctionOutline>& functions) {
    if (functions.empty())
        return {};
    app::TextTable table({app::TextTable::Align::Left, app::TextTable::Align::Right,
                          app::TextTable::Align::Right, app::TextTable::Align::Left});
    for (const model_io::FunctionOutline& it : functions)
        table.row(
            {it.name, fmt::format("{} nodes", it.nodes), fmt::format("{} calls", it.calls),
             it.firstCall.empty() ? "" : "nodes of the first are `" + it.firstCall + "/...`"});
    return "functions of the file, read as their nodes where no rule names them\n" + table.text() +
           "  what one computes: `inspect --function " + app::visible(functions.front().name) +
           "`\n";
}

/// The nodes that a call of this operator stands for.
int showFunction(const app::LoadedModel& model, const std::string& function) {
    for (const BodyPlace& place : allGraphs(model.graph))
        for (NodeId id : topologicalOrder(*place.graph)) {
            const Node& node = place.graph->node(id);
            const bool isOnnx = node.customDomain == "ai.onnx";
            const std::string name = (isOnnx ? "" : node.customDomain + ".") + node.customOp;
            if (node.op != Op::Fused || node.customDomain.empty() || name != function)
                continue;
            printOut(fmt::format("{} of node `{}`\n", app::visible(function),
                                 app::visible(place.path + node.name)) +
                     text(*node.body));
            return ExitOk;
        }
    return reportError({"function.unknown",
                        fmt::format("no node calls `{}` as one with a body", function), model.path,
                        "give the name of a function of the file, or of an operator that is known "
                        "in terms of others, as `inspect` lists them"});
}

/// Nodes by name, which ONNX's textual syntax leaves out: what `explain --node` takes.
std::string nodesText(const Graph& graph) {
    app::TextTable table({app::TextTable::Align::Left, app::TextTable::Align::Left});
    for (NodeId id : topologicalOrder(graph)) {
        const Node& node = graph.node(id);
        std::string made;
        for (ValueId output : node.outputs)
            if (output.valid())
                made += (made.empty() ? "" : ", ") + app::visible(graph.value(output).name);
        table.row({app::visible(node.name), made + " = " + opText(node)});
    }
    return graph.nodeCount() == 0 ? "" : "nodes by name\n" + table.text();
}

/// What the precision changed, with the reason of every node that stays in float32.
std::string precisionText(const PrecisionRecord& record) {
    if (record.precision == Precision::Fp32)
        return {};
    std::string out = fmt::format("precision {}: {} nodes on 16-bit values, {} Casts added\n",
                                  nameOf(record.precision), record.narrowed, record.casts);
    for (const KeptNode& kept : record.kept)
        out += fmt::format("  {}: {}\n", app::visible(kept.node), app::visible(kept.reason.text()));
    return out;
}

int run(const Options& options) {
    auto dims = parseDims(options.dims);
    if (!dims)
        return reportError(dims.error());
    ConsoleProgress progress(false);
    app::ModelRequest request{.path = options.model, .dims = *dims};
    if (!options.function.empty())
        request.whole.insert(options.function);
    auto model = app::loadModel(request, progress);
    if (!model)
        return reportError(model.error());
    if (!options.function.empty())
        return showFunction(*model, options.function);
    auto functions = model_io::functionsOf(options.model);
    if (!functions)
        return reportError(functions.error());
    auto precision = parsePrecision(options.precision);
    if (!precision)
        return reportError(precision.error());
    auto prepared = app::prepare(std::move(model->graph), model->dims, *precision);
    if (!prepared)
        return reportError(prepared.error());
    if (auto said = app::requireAllSaid(*prepared); !said)
        return reportError(said.error());
    const Graph& graph = *prepared->graph;
    std::string out = app::visible(options.model) + "\n" + factsText(graph, model->fileNodes) +
                      app::notesText(model->notes) + precisionText(prepared->precision);
    out += valuesText(graph, "inputs", graph.inputs());
    out += valuesText(graph, "outputs", graph.outputs());
    out += operatorsText(graph) + bodiesText(graph) + functionsText(*functions);
    if (options.showGraph)
        out += text(graph) + nodesText(graph);
    for (const app::MissingOperator& missing : app::missingOperators(graph))
        out += app::visible(fmt::format("cannot be run: `{}`, {} nodes, the first is `{}`{}",
                                        missing.op, missing.nodes.size(), missing.nodes.front(),
                                        missing.why.empty() ? "" : ": " + missing.why)) +
               "\n";
    printOut(out);
    return ExitOk;
}

} // namespace

Action addInspect(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("model", options->model, "ONNX file")->required();
    app.add_option("--dim", options->dims,
                   "size of an open dimension, N=4, or of an axis, x.2=320; repeatable");
    addPrecisionOptions(app, options->precision);
    app.add_option("--function", options->function,
                   "print what a function of the file computes, or an operator that is known in "
                   "terms of others: `com.acme.Gated`");
    app.add_flag("--graph", options->showGraph, "print the graph in ONNX's textual syntax");
    return [options] { return run(*options); };
}

} // namespace fuselage::cli
