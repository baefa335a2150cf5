// SPDX-License-Identifier: Apache-2.0
#include "tests/fakecuda/libraries/library_run.h"

namespace fuselage::testing_gpu {

namespace {

template <typename T> T value(Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().text()); // a test's own failure
    return std::move(*result);
}

void value(const Result<void>& result) {
    if (!result)
        throw std::runtime_error(result.error().text());
}

/// Operands in device memory, as their layouts say.
struct Operands {
    std::vector<DeviceMemory> memory;
    std::vector<DevicePointer> inputs, outputs;
    DeviceMemory workspace;

    static Tensor flat(const OperandLayout& layout, const std::vector<double>& values) {
        Tensor out(layout.dtype, {static_cast<int64_t>(values.size())});
        for (size_t i = 0; i < values.size(); ++i)
            out.set(static_cast<int64_t>(i), // what is not written yet is no integer
                    isFloat(layout.dtype) || std::isfinite(values[i]) ? values[i] : 0);
        return out;
    }

    void add(Device& device, Stream& stream, const OperandLayout& layout,
             const std::vector<double>& values, std::vector<DevicePointer>& to) {
        const Tensor data = flat(layout, values);
        memory.push_back(value(device.allocate(static_cast<int64_t>(data.byteCount()))));
        to.push_back(memory.back().address());
        value(stream.copyIn(to.back(), data.bytes(), data.byteCount()));
        value(stream.synchronize());
    }
};

Result<void> runOnce(Tactic& tactic, Device& device, const LibraryCase& of,
                     const std::vector<ReferenceValue>& inputs, GraphMemory& memory) {
    Progress progress;
    if (auto built = tactic.build(progress); !built)
        return built;
    if (auto loaded = tactic.load(device); !loaded)
        return loaded;
    value(device.finishUploads());
    Stream stream = value(device.stream());
    Operands operands;
    for (size_t i = 0; i < inputs.size(); ++i)
        operands.add(device, stream, of.request.inputs[i], memory.inputs[i], operands.inputs);
    for (size_t i = 0; i < of.program.outputs.size(); ++i)
        operands.add(device, stream, of.request.outputs[i], memory.outputs[i], operands.outputs);
    operands.workspace = value(device.allocate(tactic.facts().workspaceBytes));
    auto capture = value(StreamCapture::begin(stream));
    if (auto added = tactic.enqueue(
            stream, {operands.inputs, operands.outputs, operands.workspace.address()});
        !added)
        return added;
    value(capture.mark());
    const CapturedGraph graph = value(capture.finish());
    EXPECT_EQ(graph.kernelsOfMarks().at(0).size(), tactic.facts().launches) << tactic.name();
    for (int round = 0; round < 2; ++round)
        value(graph.launch(stream));
    value(stream.synchronize());
    for (size_t i = 0; i < operands.outputs.size(); ++i) {
        Tensor data = Operands::flat(of.request.outputs[i], memory.outputs[i]);
        value(stream.copyOut(data.bytes(), operands.outputs[i], data.byteCount()));
        value(stream.synchronize());
        for (size_t at = 0; at < memory.outputs[i].size(); ++at)
            memory.outputs[i][at] = data.at(static_cast<int64_t>(at));
    }
    return {};
}

} // namespace

bool SourceRun::has(const std::string& piece) const {
    return std::any_of(ran.begin(), ran.end(), [&](const std::string& name) {
        return name.find(piece) != std::string::npos;
    });
}

std::string SourceRun::text() const {
    std::string out;
    for (const std::string& name : ran)
        out += "ran " + name + "\n";
    for (const Reason& reason : refused)
        out += "refused " + reason.text() + "\n";
    for (const Error& error : failed)
        out += "failed " + error.text() + "\n";
    return out;
}

void LibraryTest::SetUp() {
    FakeCudaTest::SetUp();
    setenv("FUSELAGE_CUDA_LIBRARIES", FAKELIBS_FOLDER, 1);
}

void LibraryTest::TearDown() {
    unsetenv("FAKECUDNN_VERSION");
    FakeCudaTest::TearDown();
}

SourceRun LibraryTest::runAll(const LibraryCase& of, double tolerance) {
    SourceRun out;
    try {
        auto device = value(Device::open());
        value(device->makeCurrent());
        auto source = value(m_make(*device));
        TacticList list = source->candidates(of.request);
        out.refused = std::move(list.refused);
        const std::vector<ReferenceValue> inputs = inputsFor(of.body);
        for (const auto& tactic : list.candidates) {
            GraphMemory memory = memoryOf(of, inputs);
            if (auto done = runOnce(*tactic, *device, of, inputs, memory); !done) {
                out.failed.push_back(done.error());
                continue;
            }
            SCOPED_TRACE(tactic->name() + "\n" + fuselage::text(of.program));
            expectEvaluated(of, inputs, memory, tolerance);
            out.ran.push_back(tactic->name());
            out.facts.push_back(tactic->facts());
        }
    } catch (const std::runtime_error& error) {
        ADD_FAILURE() << error.what() << "\n" << fake().message();
    }
    return out;
}

} // namespace fuselage::testing_gpu
