// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/language_subjects.h"

#include "core/passes/passes.h"
#include "tests/support/layered_graph.h"
#include "tests/support/standard_import.h"

#include <fmt/format.h>

#include <iterator>

namespace fuselage::bench {

namespace {

size_t librarySize() {
    static const size_t size = [] {
        SourceSet sources;
        return loadTexts(sources, {{"library.fuse", "fuse 1; import \"std/all\";"}})
            .rules.rules.size();
    }();
    return size;
}

} // namespace

Graph layeredGraph(size_t nodes) {
    Graph graph = testing_support::layeredGraph(nodes, {});
    Progress progress;
    (void)prepareGraph(graph, progress);
    return graph;
}

std::vector<dsl::RuleInput> ruleTexts(size_t count, size_t version) {
    constexpr const char* makers[] = {"Conv(x, w: const)",
                                      "MatMul(x, w)",
                                      "Add(x, r)",
                                      "Mul(x, r)",
                                      "Div(x, r)",
                                      "Sub(x, r)",
                                      "Gemm(x, w)",
                                      "Softmax(x)",
                                      "LayerNormalization(x, g)",
                                      "Relu(x)"};
    constexpr const char* readers[] = {"Relu",
                                       "Sigmoid",
                                       "Tanh",
                                       "Erf",
                                       "Sqrt",
                                       "Exp",
                                       "Neg",
                                       "Abs",
                                       "Mul(_, f)",
                                       "Add(_, f)",
                                       "Transpose[perm == [0, 2, 1, 3]]",
                                       "Softmax[axis == -1]",
                                       "Div(_, d: const scalar)",
                                       "MaxPool[kernel_shape == [2, 2]]",
                                       "MatMul(_, v: const)",
                                       "Clip(_, 0, 6)"};
    std::string out = "fuse 1;\n";
    size_t own = count > librarySize() ? count - librarySize() : 0;
    for (size_t i = 0; i < own; ++i) {
        const char* reader = readers[i / std::size(makers) % std::size(readers)];
        std::string last = i % 2 == 0 ? "" : " -> Add(_, a: [..., N])";
        if (i + 1 == own && version > 0)
            last += fmt::format(" -> Mul(_, {})", version);
        out += fmt::format("rule Pair{} {{ match {{ y = {} -> {}{}; }} }}\n", i,
                           makers[i % std::size(makers)], reader, last);
    }
    return {{"library.fuse", "fuse 1; import \"std/all\";"}, {"pairs.fuse", std::move(out)}};
}

dsl::LoadedRules loadTexts(SourceSet& sources, const std::vector<dsl::RuleInput>& texts) {
    return dsl::loadRules(sources, texts, testing_support::standardImport);
}

} // namespace fuselage::bench
