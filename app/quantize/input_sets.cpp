// SPDX-License-Identifier: Apache-2.0
#include "app/quantize/input_sets.h"

#include "app/pipeline/inputs.h"
#include "app/pipeline/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fuselage::quantize {

namespace fs = std::filesystem;

namespace {

Failure badData(std::string message, std::string where,
                std::string fix = "a folder of input_0.pb, input_1.pb ..., or NumPy's .npy, or of "
                                  "such folders, one a set") {
    return failure("quantize.data", std::move(message), std::move(where), std::move(fix));
}

/// A first input, or an array of NumPy's, whichever input's it is.
bool isSet(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder / "input_0.pb", error))
        return true;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".npy")
            return true;
    return false;
}

/// A folder in which no set was found: what is there in place of one, or in a folder of it.
Failure noSet(const std::string& folder) {
    const std::string none = "no set of inputs is in this folder";
    std::vector<fs::path> within{folder};
    for (size_t i = 0; i < within.size(); ++i) {
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(within[i], error)) {
            const std::string kind = entry.path().extension().string();
            const std::string but = none + ", but `" + entry.path().filename().string() + "`";
            if (kind == ".npz")
                return badData(but, folder,
                               "an archive is not opened: numpy.save each array to input_N.npy, or "
                               "to NAME.npy, NAME being the input's");
            if (kind == ".pb")
                return badData(but, folder,
                               "the files of a set are called input_0.pb, input_1.pb ..., in the "
                               "order of the model's inputs");
            if (i == 0 && entry.is_directory(error))
                within.push_back(entry.path());
        }
    }
    return badData(none, folder);
}

Result<void> checkFits(const Value& input, const Tensor& tensor, const std::string& file) {
    if (tensor.dtype() != input.type.dtype)
        return badData(fmt::format("`{}` takes {}, this is {}", input.name,
                                   nameOf(input.type.dtype), nameOf(tensor.dtype())),
                       file, "give a tensor of the input's type");
    bool fits = !input.type.hasRank() || input.type.rank() == tensor.rank();
    for (size_t i = 0; fits && input.type.hasRank() && i < tensor.rank(); ++i) {
        const auto wanted = (*input.type.shape)[i].number();
        fits = !wanted || *wanted == tensor.extents()[i];
    }
    if (!fits)
        return badData(fmt::format("`{}` is {}, this is {}", input.name, input.type.text(),
                                   tensor.type().text()),
                       file, "give a tensor of the input's shape, or leave this set out");
    if (tensor.elementCount() == 0)
        return badData(fmt::format("`{}` has no elements", input.name), file);
    if (isFloat(tensor.dtype()))
        for (int64_t i = 0; i < tensor.elementCount(); ++i)
            if (!std::isfinite(tensor.at(i)))
                return badData(fmt::format("element {} of `{}` is {}", i, input.name, tensor.at(i)),
                               file, "leave this set out, or make it again: no range holds that");
    return {};
}

} // namespace

Result<InputSets> InputSets::open(const std::string& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
        return badData(fs::exists(folder, error) ? "this is a file" : "there is no such folder",
                       folder);
    InputSets out;
    out.m_folder = folder;
    if (isSet(folder)) {
        out.m_folders = {folder};
        return out;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.is_directory(error) && isSet(entry.path()))
            out.m_folders.push_back(entry.path().string());
    if (out.m_folders.empty())
        return noSet(folder);
    std::sort(out.m_folders.begin(), out.m_folders.end());
    return out;
}

InputSets InputSets::generated(uint64_t seed, size_t count, app::InputNumbers numbers) {
    InputSets out;
    out.m_seed = seed;
    out.m_count = count;
    out.m_numbers = std::move(numbers);
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
    if (areGenerated()) {
        const Graph sized = app::sized(model.clone(), dims);
        auto inputs = app::generateInputs(sized, m_seed + set);
        if (auto done = inputs ? app::setInputs(sized, m_numbers, *inputs) : Result<void>(); !done)
            return failure(done.error());
        return inputs;
    }
    auto out = app::readTensors(m_folders[set], model);
    for (size_t i = 0; out && i < out->size(); ++i)
        if (auto fits = checkFits(model.value(model.inputs()[i]), (*out)[i],
                                  app::inputFile(m_folders[set], model, i));
            !fits)
            return failure(fits.error());
    return out;
}

} // namespace fuselage::quantize
