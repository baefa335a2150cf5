// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/value_file.h"

#include "core/onnx/proto_internal.h"

#include <fmt/format.h>
#include <onnx/onnx-data_pb.h>

#include <fstream>

namespace fuselage::model_io {

namespace {

/// Sequences of sequences and optionals of sequences: the format allows any depth.
constexpr int maxValueDepth = 8;

struct ValueReader {
    const std::string& path;
    ExternalData external;

    Result<ReferenceValue> tensor(::onnx::TensorProto& proto) {
        auto read = tensorFrom(proto, external, path);
        if (!read)
            return failure(read.error());
        return ReferenceValue::from(*read);
    }

    Failure unsupported(const char* what) {
        return failure("load.value", fmt::format("{} are not supported in value files", what), path,
                       "use tensors, sequences or optionals");
    }

    /// Moves each element of a repeated field into the sequence.
    template <typename Field, typename Read>
    Result<ReferenceValue> elements(Field& field, Read&& read) {
        ReferenceValue out;
        out.kind = TypeKind::Sequence;
        for (auto& element : field) {
            auto value = read(element);
            if (!value)
                return value;
            out.dtype = value->dtype;
            out.elements.push_back(std::move(*value));
        }
        return out;
    }

    Result<ReferenceValue> sequence(::onnx::SequenceProto& proto, int depth) {
        if (depth > maxValueDepth)
            return unsupported("deeply nested sequences");
        switch (proto.elem_type()) {
        case ::onnx::SequenceProto::TENSOR:
        case ::onnx::SequenceProto::UNDEFINED: // an empty sequence may say nothing
            return elements(*proto.mutable_tensor_values(),
                            [&](::onnx::TensorProto& element) { return tensor(element); });
        case ::onnx::SequenceProto::SEQUENCE:
            return elements(*proto.mutable_sequence_values(), [&](::onnx::SequenceProto& element) {
                return sequence(element, depth + 1);
            });
        case ::onnx::SequenceProto::OPTIONAL:
            return elements(*proto.mutable_optional_values(), [&](::onnx::OptionalProto& element) {
                return optional(element, depth + 1);
            });
        default:
            return unsupported("maps and sparse tensors");
        }
    }

    Result<ReferenceValue> optional(::onnx::OptionalProto& proto, int depth) {
        ReferenceValue out;
        out.kind = TypeKind::Optional;
        Result<ReferenceValue> inner = ReferenceValue();
        if (proto.has_tensor_value())
            inner = tensor(*proto.mutable_tensor_value());
        else if (proto.has_sequence_value())
            inner = sequence(*proto.mutable_sequence_value(), depth + 1);
        else if (proto.has_sparse_tensor_value() || proto.has_map_value() ||
                 proto.has_optional_value())
            return unsupported("optionals of maps, sparse tensors and optionals");
        else
            return out;
        if (!inner)
            return inner;
        out.dtype = inner->dtype;
        out.elements.push_back(std::move(*inner));
        return out;
    }
};

} // namespace

Result<ReferenceValue> loadValue(const std::string& path, TypeKind kind) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return failure("load.missing", "the file cannot be opened", path, "check the path");
    ValueReader reader{path, ExternalData({"."}, 0)};
    auto damaged = [&](const char* what) {
        return failure("load.parse", fmt::format("not {}, or truncated", what), path,
                       "check the file");
    };
    if (kind == TypeKind::Sequence) {
        ::onnx::SequenceProto proto;
        return proto.ParseFromIstream(&file) ? reader.sequence(proto, 0)
                                             : Result<ReferenceValue>(damaged("a SequenceProto"));
    }
    if (kind == TypeKind::Optional) {
        ::onnx::OptionalProto proto;
        return proto.ParseFromIstream(&file) ? reader.optional(proto, 0)
                                             : Result<ReferenceValue>(damaged("an OptionalProto"));
    }
    ::onnx::TensorProto proto;
    return proto.ParseFromIstream(&file) ? reader.tensor(proto)
                                         : Result<ReferenceValue>(damaged("a TensorProto"));
}

} // namespace fuselage::model_io
