// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/dump_kernels.h"

#include "core/kernel/evaluate.h"
#include "core/plan/value_transfer.h"
#include "core/support/file.h"
#include "core/support/text.h"
#include "gpu/backend/plan_steps.h"
#include "gpu/backend/repro_text.h"
#include "gpu/emit/fold_constants.h"
#include "gpu/emit/packed_constant.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/runtime/random_fill.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>

namespace fuselage::gpu {

namespace {

/// Operations that the scalar evaluator does in about a second.
constexpr int64_t mostWork = int64_t{1} << 24;

/// Contents of one operand: from a seed, or a constant that decides a kernel's shape or went into a
/// table of it.
Tensor dataOf(const OperandLayout& layout, const TensorPtr& known, bool folded, uint64_t seed) {
    if (known && (folded || !isFloat(layout.dtype)))
        return *known;
    const auto count = static_cast<size_t>(elementCount(layout.extents).value_or(0));
    return Tensor(layout.dtype, layout.extents,
                  Storage::adopt(randomBytes(layout.dtype, count, seed)));
}

std::optional<std::vector<ReferenceValue>> expectedOf(const KernelRequest& request,
                                                      const std::vector<Tensor>& inputs) {
    const Work work = workOf(*request.program);
    int64_t elements = 0;
    for (const auto* operands : {&request.inputs, &request.outputs})
        for (const OperandLayout& layout : *operands)
            elements += elementCount(layout.extents).value_or(mostWork);
    if (work.flops > mostWork || elements > mostWork)
        return std::nullopt;
    std::vector<ReferenceValue> values;
    for (const Tensor& input : inputs)
        values.push_back(ReferenceValue::from(input));
    auto evaluation = evaluate(*request.program, values);
    return evaluation ? std::optional(std::move(evaluation->outputs)) : std::nullopt;
}

/// Elements as doubles, row-major.
std::string doublesOf(const ReferenceValue& value) {
    std::vector<double> numbers = value.floats;
    for (int64_t number : value.ints)
        numbers.push_back(static_cast<double>(number));
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

/// One request with the data that all of its variants share.
class StepDump {
public:
    StepDump(const KernelRequest& request, std::string folder)
        : m_request(request), m_folder(std::move(folder)) {
        const auto folded = foldConstants(request);
        for (size_t i = 0; i < request.inputs.size(); ++i)
            m_inputs.push_back(dataOf(request.inputs[i], request.constants[i],
                                      folded && !folded->reads(static_cast<uint32_t>(i)), i + 1));
        m_expected = expectedOf(request, m_inputs);
    }

    bool checked() const { return m_expected.has_value(); }

    Result<void> write(const KernelSet& set) const {
        const std::string name = set.kernels.front().name;
        ReproText repro(set, m_request, name);
        for (size_t i = 0; i < m_inputs.size(); ++i)
            if (m_request.constants[i] && !isFloat(m_inputs[i].dtype()))
                if (auto saved = save(repro.inputFile(i), bytesOf(m_inputs[i])); !saved)
                    return saved;
        for (size_t i = 0; i < set.tables.size(); ++i)
            if (auto saved = save(repro.tableFile(i), set.tables[i]); !saved)
                return saved;
        for (size_t i = 0; i < set.packed.size(); ++i) {
            const Tensor& weight = m_inputs[set.packed[i].input];
            PackedConstant recipe = recipeOf(set.packed[i], weight.dtype(), weight.extents());
            recipe.input = 0;
            const TensorPtr constants[] = {std::make_shared<const Tensor>(weight)};
            auto bytes = pack(recipe, constants);
            if (!bytes)
                return failure(bytes.error());
            if (auto saved = save(repro.packedFile(i),
                                  {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
                !saved)
                return saved;
        }
        for (size_t i = 0; m_expected && i < m_expected->size(); ++i)
            if (auto saved = save(repro.expectedFile(i), doublesOf((*m_expected)[i])); !saved)
                return saved;
        return save(name + ".cu",
                    repro.text(archOf(set.kernels.front(), archName(m_request.capability))));
    }

private:
    static std::string bytesOf(const Tensor& tensor) {
        return {reinterpret_cast<const char*>(tensor.bytes()), tensor.byteCount()};
    }

    Result<void> save(const std::string& file, const std::string& bytes) const {
        return writeFile(bytes, m_folder + "/" + file);
    }

    const KernelRequest& m_request;
    std::string m_folder;
    std::vector<Tensor> m_inputs;
    std::optional<std::vector<ReferenceValue>> m_expected;
};

Result<DumpCounts> dumpSteps(const Plan& plan, size_t begin, size_t end,
                             const DeviceProfile& profile, const std::string& folder,
                             Progress& progress) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return failure("save.write", "the folder cannot be made: " + error.message(), folder,
                       "check its permissions and free space");
    DumpCounts out;
    std::set<std::string> seen;
    for (size_t i = begin; i < end; ++i) {
        if (progress.cancelled())
            return cancelledFailure("dump");
        progress.report("dump kernels", i, end);
        if (onHost(plan, plan.steps[i]))
            continue;
        const KernelRequest request = requestOf(plan, plan.steps[i], {profile, profile.arch, 0});
        const Candidates candidates = emitAll(request);
        out.withoutOne += candidates.accepted.empty() ? 1 : 0;
        std::optional<StepDump> dump;
        for (const KernelSet& set : candidates.accepted) {
            // The name of a kernel holds a hash of its text.
            if (set.kernels.empty() || !seen.insert(set.kernels.front().name).second)
                continue;
            if (!dump)
                dump.emplace(request, folder);
            if (auto written = dump->write(set); !written)
                return failure(written.error());
            ++out.kernels;
            out.checked += dump->checked() ? 1 : 0;
        }
    }
    return out;
}

} // namespace

Result<DumpCounts> dumpKernels(const Plan& plan, const DeviceProfile& profile,
                               const std::string& folder, Progress& progress) {
    return dumpSteps(plan, 0, plan.steps.size(), profile, folder, progress);
}

Result<DumpCounts> dumpStep(const Plan& plan, size_t step, const DeviceProfile& profile,
                            const std::string& folder, Progress& progress) {
    return dumpSteps(plan, step, step + 1, profile, folder, progress);
}

std::string kernelText(const Plan& plan, size_t step, const DeviceProfile& profile) {
    if (onHost(plan, plan.steps[step]))
        return "// runs on the host\n";
    const KernelRequest request = requestOf(plan, plan.steps[step], {profile, profile.arch, 0});
    const Candidates candidates = emitAll(request);
    std::string out;
    if (candidates.accepted.empty())
        for (const Reason& reason : candidates.refused)
            out += "// " + reason.text() + "\n";
    else
        for (const KernelText& kernel : candidates.accepted.front().kernels)
            out += kernel.source + "\n";
    return out;
}

} // namespace fuselage::gpu
