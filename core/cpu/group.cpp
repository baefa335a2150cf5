// SPDX-License-Identifier: Apache-2.0
#include "core/cpu/group.h"

#include "core/cpu/prepare_kernel.h"

#include <algorithm>

namespace fuselage::cpu {

namespace {

class GroupKernel final : public Kernel {
public:
    void add(std::unique_ptr<Kernel> kernel, size_t inputs, size_t outputs) {
        tactic += (m_members.empty() ? "" : " + ") + kernel->tactic;
        isFallback = isFallback || kernel->isFallback;
        fallbacks.insert(fallbacks.end(), kernel->fallbacks.begin(), kernel->fallbacks.end());
        hidden.scratchBytes = std::max(hidden.scratchBytes, kernel->hidden.scratchBytes);
        hidden.values += kernel->hidden.values;
        hidden.passedBytes += kernel->hidden.passedBytes;
        numeric = std::max(numeric, kernel->numeric);
        m_members.push_back({std::move(kernel), inputs, outputs});
    }

    void run(const Operands& operands, RunContext& context) override {
        auto input = operands.inputs.begin();
        auto output = operands.outputs.begin();
        CountedBytes sum;
        bool all = true;
        for (const Member& member : m_members) {
            const auto inputs = input + static_cast<ptrdiff_t>(member.inputs);
            const auto outputs = output + static_cast<ptrdiff_t>(member.outputs);
            CountedBytes counted;
            RunContext own{context.threads, context.count ? &counted : nullptr, false, {}};
            member.kernel->run({{input, inputs}, {output, outputs}}, own);
            sum.read += counted.read;
            sum.written += counted.written;
            all = all && own.counted;
            input = inputs;
            output = outputs;
            if (own.error) {
                context.error = std::move(own.error);
                return;
            }
        }
        if (context.count && all) {
            *context.count = sum;
            context.counted = true;
        }
    }

private:
    struct Member {
        std::unique_ptr<Kernel> kernel;
        size_t inputs = 0, outputs = 0;
    };

    std::vector<Member> m_members;
};

} // namespace

std::optional<Reason> unsupportedGroup(const Group& program) {
    for (const KernelProgram& member : program.members)
        if (auto reason = unsupported(member))
            return reason;
    return std::nullopt;
}

KernelResult prepareGroup(const Group& program, const PrepareContext& context) {
    auto out = std::make_unique<GroupKernel>();
    auto input = context.inputs.begin();
    auto output = context.outputs.begin();
    for (const KernelProgram& member : program.members) {
        const auto inputs = input + static_cast<ptrdiff_t>(member.inputs.size());
        const auto outputs = output + static_cast<ptrdiff_t>(member.outputs.size());
        PrepareContext own{{input, inputs}, {output, outputs}, context.table,
                           context.threads, context.allowed,   false,
                           context.choices};
        KernelResult kernel = prepareKernel(member, own);
        if (!kernel)
            return kernel;
        out->add(std::move(*kernel), member.inputs.size(), member.outputs.size());
        input = inputs;
        output = outputs;
    }
    return std::unique_ptr<Kernel>(std::move(out));
}

} // namespace fuselage::cpu
