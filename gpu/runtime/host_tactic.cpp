// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/host_tactic.h"

#include "core/plan/backend.h"
#include "core/plan/value_transfer.h"

namespace fuselage::gpu {

Result<void> writeStrided(const PlanValue& value, const Tensor& tensor, DevicePointer to,
                          Stream& stream) {
    const auto span = static_cast<size_t>(spanOf(value.extents, value.strides));
    std::vector<std::byte> bytes(span * sizeOf(value.dtype));
    if (!isRowMajor(value.extents, value.strides)) {
        if (auto copied = stream.copyOut(bytes.data(), to, bytes.size()); !copied)
            return copied;
        if (auto done = stream.synchronize(); !done)
            return done;
    }
    toStrided(value, tensor, bytes.data());
    if (auto copied = stream.copyIn(to, bytes.data(), bytes.size()); !copied)
        return copied;
    return stream.synchronize();
}

namespace {

/// What is known of an operand, in the form that the transfers take.
PlanValue valueOf(const OperandLayout& layout, const std::string& name) {
    PlanValue out;
    out.name = name;
    out.dtype = layout.dtype;
    out.extents = layout.extents;
    out.strides = layout.strides;
    return out;
}

class HostTactic final : public Tactic {
public:
    HostTactic(const KernelRequest& request, std::shared_ptr<ThreadPool> threads)
        : m_body(request.program->body), m_constants(request.constants),
          m_threads(std::move(threads)) {
        const Graph& body = *m_body;
        for (size_t i = 0; i < request.inputs.size(); ++i)
            m_inputs.push_back(valueOf(request.inputs[i], body.value(body.inputs()[i]).name));
        for (size_t i = 0; i < request.outputs.size(); ++i)
            m_outputs.push_back(valueOf(request.outputs[i], body.value(body.outputs()[i]).name));
    }

    std::string name() const override { return "host"; }

    Result<void> build(Progress&) override { return {}; }

    TacticFacts facts() const override {
        TacticFacts out;
        out.launches = 0;
        out.fallback = true;
        out.notes = "reference functions of the host";
        return out;
    }

    Result<void> load(Device&) override { return {}; }

    bool reads(size_t operand) const override { return !constant(operand); }

    Result<void> enqueue(Stream& stream, const LaunchArguments& arguments) override;

private:
    TensorPtr constant(size_t operand) const {
        return operand < m_constants.size() ? m_constants[operand] : nullptr;
    }

    Result<ReferenceValue> input(size_t operand, DevicePointer from, Stream& stream) const;

    std::shared_ptr<const Graph> m_body;
    std::vector<TensorPtr> m_constants;
    std::vector<PlanValue> m_inputs, m_outputs;
    std::shared_ptr<ThreadPool> m_threads;
};

Result<ReferenceValue> HostTactic::input(size_t operand, DevicePointer from, Stream& stream) const {
    if (const TensorPtr known = constant(operand))
        return ReferenceValue::from(*known);
    const PlanValue& value = m_inputs[operand];
    const auto span = static_cast<size_t>(spanOf(value.extents, value.strides));
    std::vector<std::byte> bytes(span * sizeOf(value.dtype));
    if (auto copied = stream.copyOut(bytes.data(), from, bytes.size()); !copied)
        return failure(copied.error());
    if (auto done = stream.synchronize(); !done)
        return failure(done.error());
    return ReferenceValue::from(fromStrided(value, bytes.data()));
}

Result<void> HostTactic::enqueue(Stream& stream, const LaunchArguments& arguments) {
    std::vector<ReferenceValue> inputs;
    for (size_t i = 0; i < m_inputs.size(); ++i) {
        auto value = input(i, arguments.inputs[i], stream);
        if (!value)
            return failure(value.error());
        inputs.push_back(std::move(*value));
    }
    Progress progress;
    auto outputs = interpret(*m_body, std::move(inputs), *m_threads, progress);
    if (!outputs)
        return failure(outputs.error());
    for (size_t i = 0; i < m_outputs.size(); ++i) {
        if (auto fits = checkComputed(m_outputs[i], (*outputs)[i]); !fits)
            return fits;
        if (auto written =
                writeStrided(m_outputs[i], (*outputs)[i].toTensor(), arguments.outputs[i], stream);
            !written)
            return written;
    }
    return {};
}

class HostSource final : public TacticSource {
public:
    explicit HostSource(std::shared_ptr<ThreadPool> threads) : m_threads(std::move(threads)) {}

    const char* name() const override { return "host"; }

    std::string version() const override { return "1"; }

    bool isLastResort() const override { return true; }

    TacticList candidates(const KernelRequest& request) override {
        TacticList out;
        if (request.program->body)
            out.candidates.push_back(std::make_unique<HostTactic>(request, m_threads));
        else
            out.refused.push_back({"kind",
                                   "the program has no body that the host could run",
                                   {},
                                   {{"tactic", "host"}}});
        return out;
    }

private:
    std::shared_ptr<ThreadPool> m_threads;
};

} // namespace

std::unique_ptr<TacticSource> makeHostSource(std::shared_ptr<ThreadPool> threads) {
    return std::make_unique<HostSource>(std::move(threads));
}

} // namespace fuselage::gpu
