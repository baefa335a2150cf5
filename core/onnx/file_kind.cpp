// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/file_kind.h"

#include "core/support/text.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

namespace fuselage::model_io {

namespace {

using namespace std::string_view_literals;

struct Signature {
    size_t at; ///< bytes from the beginning
    std::string_view bytes;
    FileKind kind;
};

constexpr const char* unpack = "unpack it and give the .onnx file inside";
constexpr const char* exportFromTorch =
    "export the model in Python: torch.onnx.export(model, inputs, \"model.onnx\")";
constexpr const char* weightsAlone =
    "export the whole model to ONNX: such a file holds weights and no graph";

constexpr Signature signatures[] = {
    {0,
     "version https://git-lfs",
     {"a pointer of Git LFS, not the file itself", "run `git lfs pull` where it was cloned"}},
    {0,
     "PK\x03\x04"sv,
     {"a zip archive, as PyTorch saves checkpoints",
      "unpack it, or export the model in Python: torch.onnx.export(model, inputs, "
      "\"model.onnx\")"}},
    {0, "\x80\x02"sv, {"a pickle of Python", exportFromTorch}},
    {0, "\x80\x03"sv, {"a pickle of Python", exportFromTorch}},
    {0, "\x80\x04"sv, {"a pickle of Python", exportFromTorch}},
    {0, "\x80\x05"sv, {"a pickle of Python", exportFromTorch}},
    {0, "\x1f\x8b"sv, {"a file that gzip compressed", unpack}},
    {0, "BZh"sv, {"a file that bzip2 compressed", unpack}},
    {0,
     "\xfd"
     "7zXZ"sv,
     {"a file that xz compressed", unpack}},
    {0, "\x28\xb5\x2f\xfd"sv, {"a file that zstd compressed", unpack}},
    {0, "7z\xbc\xaf"sv, {"a 7z archive", unpack}},
    {257, "ustar"sv, {"a tar archive", unpack}},
    {4,
     "TFL3"sv,
     {"a model of TensorFlow Lite",
      "convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx"}},
    {4,
     "ORTM"sv,
     {"a model in ONNX Runtime's own format", "give the .onnx file that it was made from"}},
    {0,
     "\x89HDF"sv,
     {"HDF5, as Keras saves models",
      "convert it: python -m tf2onnx.convert --keras FILE --output model.onnx"}},
    {8, "{\""sv, {"weights in the format safetensors", weightsAlone}},
    {0, "GGUF"sv, {"weights in the format GGUF", weightsAlone}},
    {0, "ftrt"sv, {"an engine of TensorRT", "give the .onnx file that it was built from"}},
    {0, "ptrt"sv, {"an engine of TensorRT", "give the .onnx file that it was built from"}},
    {0, "\x93NUMPY"sv, {"an array of NumPy", "give it to --inputs, and a model here"}},
};

/// Of texts, without the case of letters and what stands in front.
constexpr Signature textSignatures[] = {
    {0,
     "<!doctype html",
     {"a page of a web server", "download the file itself: the link to the raw file"}},
    {0, "<html", {"a page of a web server", "download the file itself: the link to the raw file"}},
    {0,
     "<?xml",
     {"XML, as OpenVINO describes models", "give the .onnx file that it was made from"}},
    {0, "<net", {"XML, as OpenVINO describes models", "give the .onnx file that it was made from"}},
    {0, "{", {"JSON", "give the path of an .onnx file"}},
    {0, "fuse 1", {"a file of rules", "give it behind -p, and a model here"}},
    {0,
     "ir_version:",
     {"a model as protobuf's text",
      "write it as .onnx: onnx.save(google.protobuf.text_format.Parse(text, onnx.ModelProto()), "
      "\"model.onnx\")"}},
    {0,
     "<ir_version",
     {"a model in ONNX's textual syntax",
      "write it as .onnx: onnx.save(onnx.parser.parse_model(text), \"model.onnx\")"}},
};

std::string beginningOf(std::string_view text) {
    constexpr size_t enough = 64;
    const std::string_view mark = "\xef\xbb\xbf"; // of UTF-8
    if (text.starts_with(mark))
        text.remove_prefix(mark.size());
    constexpr std::string_view blanks = " \t\r\n";
    size_t begin = std::min(text.find_first_not_of(blanks), text.size());
    while (text.substr(begin).starts_with("//")) { // comments of rules
        begin = std::min(text.find('\n', begin), text.size());
        begin = std::min(text.find_first_not_of(blanks, begin), text.size());
    }
    std::string out(text.substr(begin, enough));
    while (out.size() > 1 && out[0] == '<' && blanks.find(out[1]) != std::string_view::npos)
        out.erase(1, 1);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

} // namespace

const FileKind* kindOf(std::string_view bytes) {
    for (const Signature& signature : signatures)
        if (bytes.size() >= signature.at && bytes.substr(signature.at).starts_with(signature.bytes))
            return &signature.kind;
    const std::string beginning = beginningOf(bytes);
    for (const Signature& signature : textSignatures)
        if (beginning.starts_with(signature.bytes))
            return &signature.kind;
    return nullptr;
}

std::string adviceForFolder(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr size_t most = 3;
    std::vector<std::string> models;
    std::error_code failed;
    for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
         entry.increment(failed))
        if (entry->path().extension() == ".onnx")
            models.push_back(entry->path().filename().string());
    if (models.empty())
        return "give the path of an .onnx file";
    std::sort(models.begin(), models.end());
    const bool isCut = models.size() > most;
    models.resize(std::min(models.size(), most));
    return "give one of its files: " + joined(models) + (isCut ? " ..." : "");
}

} // namespace fuselage::model_io
