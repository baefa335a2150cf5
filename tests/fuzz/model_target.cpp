// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX file: refused by an error, or a graph that holds together, that passes leave
// whole, and that is saved to a file that loads again.
#include "core/graph/verify.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"
#include "tests/fuzz/target.h"

using namespace fuselage;
using fuzz::promise;

namespace {

void whole(const Graph& graph, const char* words) {
    promise(verify(graph), words);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // No folder has this name: files never reach what lies beside them.
    const std::string folder = "/nonexistent";
    std::vector<std::string> notes;
    model_io::LoadOptions options;
    options.notes = &notes;
    Result<Graph> graph = model_io::loadBytes(fuzz::textOf(data, size), folder, options);
    if (!graph)
        return 0;
    whole(*graph, "a loaded graph is a graph");
    if (Result<std::string> bytes = model_io::toBytes(*graph)) {
        Result<Graph> again = model_io::loadBytes(*bytes, folder, {});
        promise(again, "a saved graph loads again");
    }
    Progress progress;
    if (prepareGraph(*graph, progress))
        whole(*graph, "a prepared graph is a graph");
    return 0;
}
