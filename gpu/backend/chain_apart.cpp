// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/chain_apart.h"

#include "core/cost/time_model.h"
#include "core/kernel/chain.h"
#include "gpu/backend/busy_share.h"
#include "gpu/backend/plan_memory.h"
#include "gpu/runtime/stream.h"
#include "gpu/tune/tune_work.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

namespace fuselage::gpu {

namespace {

/// One member's tactic, which several pairs may have: it is built once.
class Part {
public:
    Part(std::unique_ptr<Tactic> tactic, double seconds)
        : m_tactic(std::move(tactic)), m_name(m_tactic->name()), m_seconds(seconds),
          m_isPlain(gpu::isPlain(*m_tactic)) {}

    Result<void> build(Progress& progress) {
        std::lock_guard lock(m_building);
        if (!m_built || (!*m_built && m_built->error().code == "cancelled"))
            m_built = m_tactic->build(progress);
        return *m_built;
    }

    Result<void> packConstants() {
        std::lock_guard lock(m_building);
        return m_tactic->packConstants();
    }

    Tactic& tactic() const { return *m_tactic; }

    const std::string& name() const { return m_name; }

    /// As predicted, of one run.
    double seconds() const { return m_seconds; }

    bool isOurs() const { return m_tactic->kernels() != nullptr; }

    bool isPlain() const { return m_isPlain; }

private:
    std::unique_ptr<Tactic> m_tactic;
    std::string m_name;
    double m_seconds;
    bool m_isPlain;
    std::mutex m_building;
    std::optional<Result<void>> m_built;
};

using PartPtr = std::shared_ptr<Part>;

/// The hidden value, rows one behind the other.
OperandLayout hiddenLayout(const Chain& chain) {
    const OperandType& type = chain.members[0].outputs[0];
    return {type.dtype, type.extents, rowMajorStrides(type.extents)};
}

int64_t bytesOf(const OperandLayout& layout) {
    return elementCount(layout.extents).value_or(0) * static_cast<int64_t>(sizeOf(layout.dtype));
}

class ApartTactic final : public Tactic {
public:
    ApartTactic(const Chain& chain, std::array<PartPtr, 2> parts)
        : m_chain(chain), m_parts(std::move(parts)), m_hidden(bytesOf(hiddenLayout(chain))) {}

    std::string name() const override {
        return "layers_apart " + m_parts[0]->name() + " + " + m_parts[1]->name();
    }

    std::vector<const Tactic*> parts() const override {
        std::vector<const Tactic*> out = m_parts[0]->tactic().parts();
        const std::vector<const Tactic*> second = m_parts[1]->tactic().parts();
        out.insert(out.end(), second.begin(), second.end());
        return out;
    }

    Result<void> build(Progress& progress) override {
        return each([&](Part& part) { return part.build(progress); });
    }

    Result<void> packConstants() override {
        return each([](Part& part) { return part.packConstants(); });
    }

    Result<void> load(Device& device) override {
        return each([&](Part& part) { return part.tactic().load(device); });
    }

    TacticFacts facts() const override;
    bool reads(size_t operand) const override;
    Result<void> enqueue(Stream& stream, const LaunchArguments& arguments) override;

private:
    template <typename Work> Result<void> each(Work work) {
        for (const PartPtr& part : m_parts)
            if (auto done = work(*part); !done)
                return done;
        return {};
    }

    const Chain& m_chain;
    std::array<PartPtr, 2> m_parts;
    int64_t m_hidden = 0; ///< bytes
};

TacticFacts ApartTactic::facts() const {
    const TacticFacts first = m_parts[0]->tactic().facts(), second = m_parts[1]->tactic().facts();
    TacticFacts out;
    out.numeric = std::max(first.numeric, second.numeric);
    out.workspaceBytes =
        paddedBytes(m_hidden) + std::max(first.workspaceBytes, second.workspaceBytes);
    out.valueBytes = paddedBytes(m_hidden) + std::max(first.valueBytes, second.valueBytes);
    out.passedBytes = m_hidden + first.passedBytes + second.passedBytes;
    out.deterministic = first.deterministic && second.deterministic;
    out.registers = std::max(first.registers, second.registers);
    out.sharedBytes = std::max(first.sharedBytes, second.sharedBytes);
    out.localBytes = std::max(first.localBytes, second.localBytes);
    out.launches = first.launches + second.launches;
    out.notes =
        first.notes + (first.notes.empty() || second.notes.empty() ? "" : "; ") + second.notes;
    out.plain = m_parts[0]->isPlain() && m_parts[1]->isPlain();
    return out;
}

bool ApartTactic::reads(size_t operand) const {
    for (size_t member = 0; member < m_parts.size(); ++member)
        for (uint32_t i = 0; i < m_chain.members[member].inputs.size(); ++i)
            if (!(member == 1 && i == linkOf(m_chain)) && chainInput(m_chain, member, i) == operand)
                return m_parts[member]->tactic().reads(i);
    return false;
}

Result<void> ApartTactic::enqueue(Stream& stream, const LaunchArguments& arguments) {
    const DevicePointer hidden = arguments.workspace;
    const DevicePointer workspace =
        arguments.workspace + static_cast<DevicePointer>(paddedBytes(m_hidden));
    const size_t firstInputs = m_chain.members[0].inputs.size();
    if (auto added = m_parts[0]->tactic().enqueue(
            stream, {arguments.inputs.first(firstInputs), {&hidden, 1}, workspace});
        !added)
        return added;
    if (!m_parts[0]->isOurs()) // what a library added is no kernel that tells when it is done
        stream.addedByOthers();
    std::vector<DevicePointer> inputs;
    for (uint32_t i = 0; i < m_chain.members[1].inputs.size(); ++i)
        inputs.push_back(i == linkOf(m_chain) ? hidden
                                              : arguments.inputs[chainInput(m_chain, 1, i)]);
    return m_parts[1]->tactic().enqueue(stream, {inputs, arguments.outputs, workspace});
}

/// A member as a step of its own.
KernelRequest memberRequest(const KernelRequest& chain, size_t member) {
    const auto& code = std::get<Chain>(chain.program->code);
    KernelRequest out = chain;
    out.program = &code.members[member];
    out.inputs.clear();
    out.constants.clear();
    for (uint32_t i = 0; i < out.program->inputs.size(); ++i) {
        const bool isHidden = member == 1 && i == linkOf(code);
        const uint32_t at = isHidden ? 0 : chainInput(code, member, i);
        out.inputs.push_back(isHidden ? hiddenLayout(code) : chain.inputs[at]);
        out.constants.push_back(isHidden ? nullptr : chain.constant(at));
    }
    if (member == 0)
        out.outputs = {hiddenLayout(code)};
    return out;
}

/// Of parts that fit, the one that is predicted to be the fastest; null: none does.
PartPtr fastest(const std::vector<PartPtr>& parts, const std::function<bool(const Part&)>& fits) {
    PartPtr out;
    for (const PartPtr& part : parts)
        if (fits(*part) && (!out || part->seconds() < out->seconds()))
            out = part;
    return out;
}

/// What a member is computed by: a kernel of ours, a library's call.
std::vector<PartPtr> bestOf(const std::vector<PartPtr>& parts) {
    std::vector<PartPtr> out;
    for (bool isOurs : {true, false})
        if (auto best = fastest(parts, [&](const Part& part) {
                return part.isOurs() == isOurs && !part.isPlain();
            }))
            out.push_back(std::move(best));
    return out;
}

} // namespace

ApartTactics apartTactics(
    const KernelRequest& chain,
    const std::function<std::vector<std::unique_ptr<Tactic>>(const KernelRequest&)>& candidatesOf) {
    ApartTactics out;
    const auto* code = std::get_if<Chain>(&chain.program->code);
    if (!code)
        return out;
    std::array<std::vector<PartPtr>, 2> parts;
    for (size_t member = 0; member < parts.size(); ++member) {
        const KernelRequest request = memberRequest(chain, member);
        const TimeEstimate estimate = predictTime(
            *request.program, predictTraffic(*request.program, *chain.profile, {}), *chain.profile);
        for (std::unique_ptr<Tactic>& tactic : candidatesOf(request)) {
            const double seconds = predictedRun(request, estimate, *tactic);
            parts[member].push_back(std::make_shared<Part>(std::move(tactic), seconds));
        }
        ApartTactics within = apartTactics(request, candidatesOf);
        for (std::unique_ptr<Tactic>& tactic : within.candidates) {
            const double seconds = within.seconds.at(tactic->name());
            parts[member].push_back(std::make_shared<Part>(std::move(tactic), seconds));
        }
    }
    auto offer = [&](const PartPtr& first, const PartPtr& second) {
        if (!first || !second)
            return;
        out.candidates.push_back(std::make_unique<ApartTactic>(*code, std::array{first, second}));
        out.seconds[out.candidates.back()->name()] = first->seconds() + second->seconds();
    };
    auto isPlain = [](const Part& part) { return part.isPlain(); };
    offer(fastest(parts[0], isPlain), fastest(parts[1], isPlain));
    for (const PartPtr& first : bestOf(parts[0]))
        for (const PartPtr& second : bestOf(parts[1]))
            offer(first, second);
    return out;
}

} // namespace fuselage::gpu
