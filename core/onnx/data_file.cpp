// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/data_file_internal.h"
#include "core/onnx/file_internal.h"
#include "core/onnx/model_file.h"
#include "core/onnx/proto_internal.h"
#include "core/support/hash.h"

#include <cstring>
#include <filesystem>

namespace fuselage::model_io {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view ending = ".data";
constexpr size_t digits = 16;

/// Of eight bytes a step: there may be gigabytes.
uint64_t hashOf(const std::byte* data, size_t size) {
    constexpr uint64_t prime = 0x9e3779b97f4a7c15ULL;
    uint64_t state = size * prime;
    for (; size >= sizeof(uint64_t); data += sizeof(uint64_t), size -= sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, data, sizeof word);
        state = (state ^ word) * prime;
        state ^= state >> 32U;
    }
    return Hasher().number(state).bytes(data, size).value();
}

} // namespace

std::string_view modelOfDataFile(std::string_view name) {
    if (name.size() < digits + ending.size() + 1 || !name.ends_with(ending))
        return {};
    name.remove_suffix(ending.size());
    const std::string_view hash = name.substr(name.size() - digits);
    name.remove_suffix(digits);
    if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos ||
        !name.ends_with("."))
        return {};
    name.remove_suffix(1);
    return name;
}

std::string dataFileName(const std::string& path, const std::vector<FilePiece>& pieces) {
    Hasher hasher;
    for (const FilePiece& piece : pieces)
        hasher.number(piece.offset).number(hashOf(piece.data, piece.size));
    return fs::path(path).filename().string() + "." + hasher.hex() + std::string(ending);
}

std::string dataFileOf(const std::string& path) {
    constexpr size_t mostBytes = 64U << 20; // of a model whose initializers are elsewhere
    std::error_code failed;
    ::onnx::ModelProto model;
    if (!fs::is_regular_file(path, failed) || !parseFile(path, mostBytes, model))
        return {};
    const std::string file = fs::path(path).filename().string();
    for (const ::onnx::TensorProto& initializer : model.graph().initializer())
        for (const auto& entry : initializer.external_data())
            if (entry.key() == "location" && modelOfDataFile(entry.value()) == file)
                return entry.value();
    return {};
}

} // namespace fuselage::model_io
