// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/input_sets.h"

#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"
#include "core/onnx/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fuselage::quantize {

namespace fs = std::filesystem;

namespace {

Failure badData(std::string message, std::string where) {
    return failure("quantize.data", std::move(message), std::move(where),
                   "a folder of input_0.pb, input_1.pb ..., or of such folders, one a set");
}

Result<void> checkFits(const Value& input, const Tensor& tensor, const std::string& file) {
    if (tensor.dtype() != input.type.dtype)
        return badData(fmt::format("`{}` takes {}, this is {}", input.name,
                                   nameOf(input.type.dtype), nameOf(tensor.dtype())),
                       file);
    bool fits = !input.type.hasRank() || input.type.rank() == tensor.rank();
    for (size_t i = 0; fits && input.type.hasRank() && i < tensor.rank(); ++i) {
        const auto wanted = (*input.type.shape)[i].number();
        fits = !wanted || *wanted == tensor.extents()[i];
    }
    if (!fits)
        return badData(fmt::format("`{}` is {}, this is {}", input.name, input.type.text(),
                                   tensor.type().text()),
                       file);
    if (tensor.elementCount() == 0)
        return badData(fmt::format("`{}` has no elements", input.name), file);
    if (isFloat(tensor.dtype()))
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            if (!std::isfinite(tensor.at(i)))
                return badData(fmt::format("element {} of `{}` is {}", i, input.name, tensor.at(i)),
                               file);
    return {};
}

} // namespace

Result<InputSets> InputSets::open(const std::string& folder) {
    constexpr const char* first = "input_0.pb";
    std::error_code error;
    if (!fs::is_directory(folder, error))
        return badData("there is no such folder", folder);
    InputSets out;
    out.m_folder = folder;
    if (fs::exists(fs::path(folder) / first, error)) {
        out.m_folders = {folder};
        return out;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (fs::exists(entry.path() / first, error))
            out.m_folders.push_back(entry.path().string());
    if (out.m_folders.empty())
        return badData("no set of inputs is in this folder", folder);
    std::sort(out.m_folders.begin(), out.m_folders.end());
    return out;
}

InputSets InputSets::generated(uint64_t seed, size_t count) {
    InputSets out;
    out.m_seed = seed;
    out.m_count = count;
    return out;
}

std::string InputSets::text() const {
    const std::string count = fmt::format("{} {}set{}", size(), areGenerated() ? "generated " : "",
                                          size() == 1 ? "" : "s");
    return areGenerated() ? fmt::format("{}, seed {}", count, m_seed)
                          : fmt::format("{} of {}", count, m_folder);
}

Result<std::vector<Tensor>> InputSets::read(const Graph& model, const DimensionValues& dims,
                                            size_t set) const {
    if (areGenerated())
        return app::generateInputs(app::sized(model.clone(), dims), m_seed + set);
    std::vector<Tensor> out;
    for (size_t i = 0; i < model.inputs().size(); ++i) {
        const std::string file = fmt::format("{}/input_{}.pb", m_folders[set], i);
        auto tensor = model_io::loadTensor(file);
        if (!tensor)
            return failure(tensor.error());
        if (auto fits = checkFits(model.value(model.inputs()[i]), *tensor, file); !fits)
            return failure(fits.error());
        out.push_back(std::move(*tensor));
    }
    return out;
}

} // namespace fuselage::quantize
