// SPDX-License-Identifier: Apache-2.0
#include "tests/ort/onnx_runtime.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fuselage::ort {

using nlohmann::json;
using testing_support::ProcessOptions;
using testing_support::runProcess;

namespace {

/// ort.mjs answers so when the package cannot be loaded.
constexpr int packageMissing = 77;

bool writeBytes(const std::string& path, const Tensor& tensor) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(tensor.bytes()),
              static_cast<std::streamsize>(tensor.byteCount()));
    return out.good();
}

/// ONNX Runtime's names of element types, where they differ from ONNX's.
std::optional<DType> dtypeOf(const std::string& name) {
    return dtypeFromName(name == "float32" ? "float" : name == "float64" ? "double" : name);
}

Result<Tensor> readOutput(const json& described, const std::string& file) {
    std::string type = described.at("type");
    auto dtype = dtypeOf(type);
    if (!dtype || sizeOf(*dtype) == 0)
        return failure("ort.output", "element type `" + type + "` cannot be read", file);
    Tensor tensor(*dtype, described.at("extents").get<Extents>());
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(tensor.bytes()),
            static_cast<std::streamsize>(tensor.byteCount()));
    if (static_cast<size_t>(in.gcount()) != tensor.byteCount() || in.peek() != EOF)
        return failure("ort.output", "does not hold " + tensor.type().text(), file);
    return tensor;
}

} // namespace

Result<std::string> writeJob(const Job& job, const std::string& folder) {
    json out{{"model", job.model},     {"threads", job.threads},  {"level", job.level},
             {"seconds", job.seconds}, {"inputs", json::array()}, {"outputs", json::array()}};
    for (size_t i = 0; i < job.inputs.size(); ++i) {
        const auto& [name, tensor] = job.inputs[i];
        std::string file = fmt::format("{}/input_{}", folder, i);
        if (tensor.dtype() == DType::String)
            return failure("ort.job", "string inputs cannot be passed", name);
        if (!writeBytes(file, tensor))
            return failure("ort.job", "cannot be written", file);
        out["inputs"].push_back({{"name", name},
                                 {"dtype", nameOf(tensor.dtype())},
                                 {"extents", tensor.extents()},
                                 {"file", file}});
    }
    for (size_t i = 0; i < job.outputs.size(); ++i)
        out["outputs"].push_back(
            {{"name", job.outputs[i]}, {"file", fmt::format("{}/output_{}", folder, i)}});
    std::string path = folder + "/job.json";
    std::ofstream file(path);
    file << out.dump(1);
    file.flush();
    if (!file)
        return failure("ort.job", "cannot be written", path);
    return path;
}

Result<OnnxRuntime> OnnxRuntime::find(const std::string& script, const std::string& modules) {
    OnnxRuntime out;
    out.m_script = script;
    std::string package = modules + "/onnxruntime-node";
    if (std::getenv("FUSELAGE_ONNXRUNTIME") == nullptr && !modules.empty() &&
        std::filesystem::exists(package))
        out.m_package = std::filesystem::absolute(package);
    auto version = out.call("version", "");
    if (!version)
        return failure(version.error());
    out.m_version = version->substr(0, version->find('\n'));
    return out;
}

ProcessOptions OnnxRuntime::environment() const {
    ProcessOptions options;
    if (!m_package.empty())
        options.environment.emplace_back("FUSELAGE_ONNXRUNTIME", m_package);
    return options;
}

Result<std::string> OnnxRuntime::call(const std::string& mode, const std::string& file) const {
    auto ran = runProcess({"node", m_script, mode, file}, environment());
    if (!ran)
        return failure("ort.missing", "node is not here", "", "install nodejs, then ./dev oracle");
    if (ran->exitCode == packageMissing)
        return failure("ort.missing", "the package onnxruntime-node is not here", "",
                       "./dev oracle, or set FUSELAGE_ONNXRUNTIME to its folder");
    if (ran->exitCode != 0)
        return failure("ort.run", fmt::format("exit code {}: {}", ran->exitCode, ran->errors));
    return ran->output;
}

Result<std::vector<Tensor>> OnnxRuntime::run(const Job& job, const std::string& folder) const {
    auto path = writeJob(job, folder);
    if (!path)
        return failure(path.error());
    auto answer = call("run", *path);
    if (!answer)
        return failure(answer.error());
    std::vector<Tensor> outputs;
    for (const json& described : json::parse(*answer)) {
        auto output = readOutput(described, fmt::format("{}/output_{}", folder, outputs.size()));
        if (!output)
            return failure(output.error());
        outputs.push_back(std::move(*output));
    }
    return outputs;
}

Result<std::vector<double>> OnnxRuntime::time(const Job& job, const std::string& folder) const {
    auto path = writeJob(job, folder);
    if (!path)
        return failure(path.error());
    auto answer = call("time", *path);
    if (!answer)
        return failure(answer.error());
    return json::parse(*answer).at("seconds").get<std::vector<double>>();
}

Result<double> OnnxRuntime::first(const std::string& jobFile) const {
    auto answer = call("first", jobFile);
    if (!answer)
        return failure(answer.error());
    return json::parse(*answer).at("seconds").at(0).get<double>();
}

Result<testing_support::Process> OnnxRuntime::serve(const std::string& jobFile) const {
    ProcessOptions options = environment();
    options.takesInput = true;
    return testing_support::Process::start({"node", m_script, "serve", jobFile}, options);
}

} // namespace fuselage::ort
