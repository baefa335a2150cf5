// SPDX-License-Identifier: Apache-2.0
// The bytes of a model file. Protobuf would copy the weights twice, into the message and into its
// bytes: they are left out of the message and written from where they lie.
#pragma once

#include "core/graph/tensor.h"
#include "core/onnx/proto_internal.h"
#include "core/support/file.h"

#include <deque>
#include <string>
#include <vector>

namespace fuselage::model_io {

/// Whether a tensor's data is worth to be left out.
bool hasLargeData(const Tensor& tensor);

/// An initializer of a model's graph that is written without its data.
struct LargeInitializer {
    ::onnx::TensorProto* proto = nullptr; ///< in the model
    Tensor data;                          ///< bytes as a file has them
};

uint64_t bytesOf(const std::vector<LargeInitializer>& large);

/// A data file for the large ones: each begins at a page, so that it can be mapped on its own; what
/// several share is there once.
std::vector<FilePiece> piecesOf(const std::vector<LargeInitializer>& large);

/// The model then reads them from `file`, of these pieces, beside it.
void moveToDataFile(const std::vector<LargeInitializer>& large,
                    const std::vector<FilePiece>& pieces, const std::string& file);

/// A model as one file.
class ModelBytes {
public:
    /// `large`: in the order of the graph's initializers. The model loses its initializers.
    ModelBytes(::onnx::ModelProto model, const std::vector<LargeInitializer>& large);
    ModelBytes(ModelBytes&&) = default; // the pieces point into it

    /// Good while this and the tensors live.
    const std::vector<FilePiece>& pieces() const { return m_pieces; }

    uint64_t size() const { return m_size; }

    std::string text() const;

private:
    void add(const std::byte* data, size_t size);
    void addText(std::string text);

    std::deque<std::string> m_texts;
    std::vector<FilePiece> m_pieces;
    uint64_t m_size = 0;
};

} // namespace fuselage::model_io
