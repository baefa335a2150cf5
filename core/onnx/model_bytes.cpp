// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/model_bytes_internal.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <memory>
#include <utility>

namespace fuselage::model_io {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

/// Tensors below this stay in the model file.
constexpr size_t smallBytes = 1024;
/// Page size: each tensor of a data file can be mapped on its own.
constexpr uint64_t dataAlignment = 4096;

/// What stands before the bytes of a field: its tag and their number.
std::string fieldHead(int field, uint64_t size) {
    std::array<uint8_t, 20> buffer{};
    uint8_t* end = CodedOutputStream::WriteVarint32ToArray(
        WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), buffer.data());
    end = CodedOutputStream::WriteVarint64ToArray(size, end);
    return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(end - buffer.data())};
}

void addEntry(::onnx::TensorProto& tensor, const char* key, const std::string& value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
}

} // namespace

bool hasLargeData(const Tensor& tensor) {
    return tensor.dtype() != DType::String && tensor.byteCount() >= smallBytes;
}

uint64_t bytesOf(const std::vector<LargeInitializer>& large) {
    uint64_t sum = 0;
    for (const LargeInitializer& each : large)
        sum += each.data.byteCount();
    return sum;
}

std::vector<FilePiece> piecesOf(const std::vector<LargeInitializer>& large) {
    std::vector<FilePiece> pieces;
    std::set<std::pair<const std::byte*, size_t>> known; // tensors may be one in memory
    uint64_t offset = 0;
    for (const auto& [proto, data] : large) {
        if (!known.emplace(data.bytes(), data.byteCount()).second)
            continue;
        pieces.push_back({offset, data.bytes(), data.byteCount()});
        offset = (offset + data.byteCount() + dataAlignment - 1) / dataAlignment * dataAlignment;
    }
    return pieces;
}

void moveToDataFile(const std::vector<LargeInitializer>& large,
                    const std::vector<FilePiece>& pieces, const std::string& file) {
    std::map<std::pair<const std::byte*, size_t>, uint64_t> offsets;
    for (const FilePiece& piece : pieces)
        offsets.emplace(std::pair(piece.data, piece.size), piece.offset);
    for (const auto& [proto, data] : large) {
        proto->set_data_location(::onnx::TensorProto::EXTERNAL);
        addEntry(*proto, "location", file);
        addEntry(*proto, "offset", std::to_string(offsets.at({data.bytes(), data.byteCount()})));
        addEntry(*proto, "length", std::to_string(data.byteCount()));
    }
}

ModelBytes::ModelBytes(::onnx::ModelProto model, const std::vector<LargeInitializer>& large) {
    google::protobuf::RepeatedPtrField<::onnx::TensorProto> initializers;
    initializers.Swap(model.mutable_graph()->mutable_initializer());
    const std::unique_ptr<::onnx::GraphProto> graph(model.release_graph());
    struct Initializer {
        std::string text; ///< what stands before its data
        const Tensor* data = nullptr;
    };
    std::vector<Initializer> written;
    uint64_t graphSize = graph->ByteSizeLong();
    auto next = large.begin();
    for (const ::onnx::TensorProto& each : initializers) {
        Initializer& added = written.emplace_back();
        std::string message;
        each.AppendToString(&message);
        uint64_t size = 0;
        if (next != large.end() && next->proto == &each) {
            added.data = &next++->data;
            size = added.data->byteCount();
            message += fieldHead(::onnx::TensorProto::kRawDataFieldNumber, size);
        }
        added.text = fieldHead(::onnx::GraphProto::kInitializerFieldNumber, message.size() + size);
        added.text += message;
        graphSize += added.text.size() + size;
    }
    // The graph is the last field of the model, its initializers are the last ones of the graph.
    std::string text;
    model.AppendToString(&text);
    text += fieldHead(::onnx::ModelProto::kGraphFieldNumber, graphSize);
    graph->AppendToString(&text);
    for (const Initializer& each : written) {
        text += each.text;
        if (!each.data)
            continue;
        addText(std::move(text));
        text.clear();
        add(each.data->bytes(), each.data->byteCount());
    }
    addText(std::move(text));
}

std::string ModelBytes::text() const {
    std::string out;
    out.reserve(m_size);
    for (const FilePiece& piece : m_pieces)
        out.append(reinterpret_cast<const char*>(piece.data), piece.size);
    return out;
}

void ModelBytes::add(const std::byte* data, size_t size) {
    m_pieces.push_back({m_size, data, size});
    m_size += size;
}

void ModelBytes::addText(std::string text) {
    const std::string& kept = m_texts.emplace_back(std::move(text));
    add(reinterpret_cast<const std::byte*>(kept.data()), kept.size());
}

} // namespace fuselage::model_io
