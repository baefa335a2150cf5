// SPDX-License-Identifier: Apache-2.0
// A Report with something in every field, and names that would do harm if they were copied as they
// are.
#pragma once

#include "app/pipeline/report.h"

namespace fuselage::report_test {

constexpr const char* hostile = "a<b>|\"c\",'d'\n](x)@e `f` \xff";

inline app::KernelReport sampleKernel(const std::string& name, const std::string& rule) {
    app::KernelReport k;
    k.name = name;
    k.kind = "Contraction";
    k.tactic = "library";
    k.rule = rule;
    k.node = name;
    k.sources = {"Conv_1", hostile};
    k.numeric = "exact";
    k.allowed = "reassociated";
    k.traffic = {100, 50, 120, 90};
    k.flops = 4000;
    k.predictedSeconds = 1.25e-6;
    k.limiter = "dram";
    k.measuredSeconds = 1.0 / 3e5;
    k.rooflineSeconds = 1e-6;
    k.facts = KernelFacts{32, 1024, 0, 1, 4096, "measured"};
    k.inSitu = TimingSummary{1e-6, 0.9e-6, 1.2e-6, 0.95e-6, 1.05e-6, 30};
    k.share = 0.5;
    k.fallbacks = {{"layout", "not packed", "", {{"found", "strided"}}}};
    return k;
}

inline app::Report sampleReport() {
    app::Report r;
    r.machine.cpu = "a processor";
    r.machine.cores = 2;
    r.machine.threadsUsed = 2;
    r.machine.backend = "cpu";
    r.machine.backendText = "tiles";
    r.machine.profile = "h200";
    r.machine.profileTitle = "NVIDIA H200";
    r.machine.dramBandwidth = 4.8e12;
    r.model = {"models/net.onnx", "net", 3, {"x: float[1,3]"}, {"y: float[1,3]"}, {{"N", 4}}};
    r.precision.name = "fp16";
    r.precision.kept = {{"Softmax_3", {"range", "sums overflow", "", {}}}};
    r.rules = {{"ConvRelu", "std/convolution.fuse", 12, 1, 1, 1, 64, {"a word to its users"}}};
    r.before = {3,    3,    {200, 100, 0, 0},
                4096, 512,  2,
                8000, 3e-6, TimingSummary{3e-6, 2e-6, 4e-6, 2.9e-6, 3.1e-6, 30}};
    r.after = {2,    2,    {150, 50, 0, 0},
               2048, 512,  1,
               8000, 2e-6, TimingSummary{2e-6, 1e-6, 3e-6, 1.9e-6, 2.1e-6, 30}};
    r.ratio = RatioSummary{0.66, 0.6, 0.7};
    r.agreement = {{"y", "unfused", 1e-6, 1e-7, 1e-4, true},
                   {"y", "fused", 2e-6, 2e-7, 1e-4, true}};
    r.after.kernels = {sampleKernel("F1", "ConvRelu"), sampleKernel("Softmax_3", "")};
    r.before.kernels = {sampleKernel("Conv_1", ""), sampleKernel("Relu_2", ""),
                        sampleKernel("Softmax_3", "")};
    app::MatchReport match;
    match.fusedNode = "F1";
    match.rule = "ConvRelu";
    match.file = "std/convolution.fuse";
    match.line = 12;
    match.nodes = {"Conv_1", "Relu_2"};
    match.labels = {"relu"};
    match.bindings = {{"w", {"weights"}}, {"x", {"x"}}};
    match.bytesBefore = 300;
    match.bytesAfter = 200;
    match.launchesBefore = 2;
    match.launchesAfter = 1;
    match.flops = 4000;
    match.secondsBefore = 2e-6;
    match.measuredAfter = 1e-6;
    match.unjudged = "its nodes had no kernels";
    r.matches = {match};
    app::StepReport fused{
        app::StepReport::Kind::Fused, "fuse", 0, "ConvRelu", "std/convolution.fuse", 12,
        {"Conv_1", "Relu_2"},         {"F1"}, {}};
    app::StepReport refused{app::StepReport::Kind::Refused,
                            "fuse",
                            1,
                            "Other",
                            "std/other.fuse",
                            3,
                            {"Softmax_3"},
                            {},
                            {"cost", "4.1 us against 3.9 us", "smaller", {}}};
    r.steps = {fused, refused};
    r.nearMisses = {{"Other",
                     "Softmax_3",
                     hostile,
                     2,
                     4,
                     {"M0305", "axis is -2", "axis = -1", {{"found", "-2"}}},
                     "my rules/other.fuse",
                     7}};
    r.splits = {{"F1", "ConvRelu", {"kind", "two contractions", "", {}}, 2},
                {"F2",
                 "ConvRelu",
                 {"cost", "slower", "", {{"one_us", "3"}, {"parts_us", "4"}}},
                 2,
                 false,
                 {{"Conv_1"}, {"Relu_1", hostile}},
                 4e-6,
                 3e-6}};
    r.recomputes = {{"Cast_0",
                     {"Expand_0", "Cast_0"},
                     {"F1", "Softmax_3"},
                     1024,
                     {"cost", "dearer", "", {{"once_us", "3"}, {"again_us", "4"}}},
                     false}};
    r.groups = {{{"F1", "Softmax_3"}, {"cost", "too large", "", {}}, false}};
    r.layouts = {{{"h", "h2"},
                  "channels innermost",
                  "as in the model",
                  {"cost", "cheaper", "", {{"chosen_us", "3"}, {"rejected_us", "4"}}}}};
    r.sweeps = {{"F1",
                 "Softmax_3",
                 2,
                 4,
                 {"cost", "dearer", "", {{"passes_us", "3"}, {"whole_us", "3"}}},
                 false}};
    r.pairs = {{"Conv_1_q",
                "Conv_1_dq",
                "x",
                "int8",
                "0.5",
                "-64 .. 63.5",
                {{"Conv_1", "QuantizedConv", "Contraction of int8"}, {"Relu_2", "", ""}},
                48,
                "ConvRelu",
                {"Conv_1", "Relu_2"}}};
    r.stageSeconds = {{"load", 0.25}};
    app::GraphReport graph;
    graph.name = "net";
    graph.values = {{"x", "float[1,3]", "float", "", 12, false},
                    {"y", "float[1,3]", "float", "", 12, false}};
    graph.nodes.push_back({"Conv_1",
                           "Conv",
                           false,
                           "",
                           "",
                           0,
                           {},
                           {0, app::GraphNodeReport::omitted},
                           {1},
                           {{"group", "1"}}});
    graph.inputs = {0};
    graph.outputs = {1};
    r.before.graph = graph;
    graph.nodes[0].fused = true;
    r.after.graph = graph;
    return r;
}

} // namespace fuselage::report_test
