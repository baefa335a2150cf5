// SPDX-License-Identifier: Apache-2.0
// One TensorProto in a file.
#include "core/onnx/file_internal.h"
#include "core/onnx/model_file.h"
#include "core/onnx/proto_internal.h"
#include "core/support/file.h"

#include <climits>

#include <filesystem>

namespace fuselage::model_io {

Result<Tensor> loadTensor(const std::string& path, std::string* name) {
    ::onnx::TensorProto proto;
    if (auto ok = parseFile(path, INT_MAX, proto); !ok && ok.error().code == "load.parse")
        return failure("load.parse", "not a tensor in ONNX's format, or truncated", path,
                       "onnx.numpy_helper.from_array(array).SerializeToString() makes one of a "
                       "numpy array");
    else if (!ok)
        return failure(ok.error());
    if (name)
        *name = proto.name();
    ExternalData external({std::filesystem::path(path).parent_path().string()}, INT_MAX);
    return tensorFrom(proto, external, path);
}

Result<void> saveTensor(const Tensor& tensor, const std::string& path, const std::string& name) {
    ::onnx::TensorProto proto;
    if (!name.empty())
        proto.set_name(name);
    tensorTo(tensor, proto);
    std::string bytes;
    if (proto.ByteSizeLong() > INT_MAX || !proto.SerializeToString(&bytes))
        return failure("save.too_large", "tensor files are limited to 2 GiB", path,
                       "save fewer elements");
    return writeFile(bytes, path);
}

} // namespace fuselage::model_io
