// SPDX-License-Identifier: Apache-2.0
#include "tests/strangers/cases.h"

#include "app/pipeline/inputs.h"
#include "core/onnx/model_file.h"
#include "core/passes/passes.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace fuselage::strangers {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view dataEnding = "_data";

/// "NAME@CASE_data" -> "NAME@CASE", of folders that hold an input.
std::optional<std::string> caseOf(const fs::path& folder) {
    std::error_code error;
    const std::string name = folder.filename();
    if (!name.ends_with(dataEnding) || !fs::exists(folder / "input_0.pb", error))
        return std::nullopt;
    return name.substr(0, name.size() - dataEnding.size());
}

/// By its own name, or by that of its model.
bool isWanted(const std::string& name, const std::vector<std::string>& only) {
    return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& wanted) {
               return name == wanted || name.substr(0, name.find('@')) == wanted;
           });
}

} // namespace

Result<std::vector<Case>> findCases(const std::string& folder,
                                    const std::vector<std::string>& only) {
    std::error_code error;
    std::set<std::string> models, names;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".onnx")
            models.insert(entry.path().stem());
        if (auto name = caseOf(entry.path()))
            names.insert(*name);
    }
    if (error)
        return failure("strangers.folder", "cannot be read: " + error.message(), folder,
                       "tests/strangers/fetch FOLDER makes one");
    std::vector<Case> out;
    for (const std::string& name : names) {
        const std::string model = name.substr(0, name.find('@'));
        if (models.contains(model) && isWanted(name, only))
            out.push_back({name, folder + "/" + model + ".onnx",
                           folder + "/" + name + std::string(dataEnding)});
    }
    for (const std::string& model : models)
        if (!names.contains(model) && isWanted(model, only))
            out.push_back({model, folder + "/" + model + ".onnx", ""});
    std::sort(out.begin(), out.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    return out;
}

Result<std::vector<Tensor>> storedInputs(const Graph& graph, const std::string& folder) {
    std::vector<Tensor> tensors;
    std::error_code error;
    for (size_t i = 0; i < graph.inputs().size() && fs::exists(folder, error); ++i) {
        auto tensor = model_io::loadTensor(folder + "/input_" + std::to_string(i) + ".pb");
        if (!tensor)
            return failure(tensor.error());
        tensors.push_back(std::move(*tensor));
    }
    return tensors;
}

std::map<std::string, int64_t> dimensionsOf(const Graph& graph, const std::vector<Tensor>& inputs) {
    std::map<std::string, int64_t> out;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Type& type = graph.value(graph.inputs()[i]).type;
        for (size_t d = 0; type.shape && d < std::min(type.rank(), inputs[i].rank()); ++d)
            if ((*type.shape)[d].symbols() == std::vector{(*type.shape)[d].text()})
                out[(*type.shape)[d].text()] = inputs[i].extents()[d];
    }
    return out;
}

Result<Opened> open(const Case& stranger) {
    Progress progress;
    auto loaded = app::loadModel(stranger.model, {}, progress);
    if (!loaded)
        return failure(loaded.error());
    Opened out{std::move(*loaded), {}, {}};
    auto stored = storedInputs(out.model.graph, stranger.data);
    if (!stored)
        return failure(stored.error());
    if (!stored->empty()) {
        out.inputs = std::move(*stored);
        out.dims = dimensionsOf(out.model.graph, out.inputs);
        return out;
    }
    Graph bound = out.model.graph.clone();
    out.dims = bindAllDimensions(bound, out.model.dims);
    auto generated = app::generateInputs(bound, 1);
    if (!generated)
        return failure(generated.error());
    out.inputs = std::move(*generated);
    return out;
}

} // namespace fuselage::strangers
