// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_zoo/shim_cases.h"

#include "app/zoo/zoo.h"
#include "gpu/kernels/variant_table.h"
#include "tests/gpu_zoo/zoo_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace fuselage::gpu_zoo {

namespace {

/// Tried in turn, until the kernels are of the same variants.
constexpr int64_t sizes[] = {5, 13, 24, 33, 48, 70, 160, 400, 1100};
constexpr int64_t mostWork = int64_t{1} << 23; ///< FLOPs that the evaluator does in no time
/// Large tiles want a block for every few multiprocessors; small programs have them for few. 0: as
/// many as the request says.
constexpr double multiprocessors[] = {0, 32, 8, 1};

bool usesMatrixUnits(const gpu::KernelSet& set) {
    return std::any_of(set.kernels.begin(), set.kernels.end(), [](const gpu::KernelText& kernel) {
        return kernel.source.find("loadFragments") != std::string::npos ||
               kernel.source.find("multiplyGroup") != std::string::npos;
    });
}

/// What decides a program's kernels beside its sizes: order in memory, gaps, whole vectors.
std::string layoutForm(const gpu::OperandLayout& layout) {
    std::string out = nameOf(layout.dtype);
    int64_t dense = 1;
    for (size_t d = layout.extents.size(); d-- > 0; dense *= layout.extents[d])
        out += layout.extents[d] == 1       ? "1"
               : layout.strides[d] == 0     ? "0"
               : layout.strides[d] == 1     ? "i"
               : layout.strides[d] == dense ? "d"
               : layout.strides[d] % 8 == 0 ? "v"
                                            : "s";
    return out;
}

std::string formOfProgram(const ZooProgram& program) {
    std::string out = formOf(text(*program.request.program));
    for (const auto* layouts : {&program.request.inputs, &program.request.outputs})
        for (const gpu::OperandLayout& layout : *layouts)
            out += " " + layoutForm(layout);
    return out;
}

std::set<std::string> variantsOf(const gpu::KernelRequest& request,
                                 std::vector<gpu::KernelSet>* sets = nullptr) {
    std::set<std::string> out;
    for (gpu::KernelSet& set : gpu::emitAll(request).accepted)
        if (!set.kernels.empty() && !usesMatrixUnits(set)) {
            out.insert(set.variant);
            if (sets != nullptr)
                sets->push_back(std::move(set));
        }
    return out;
}

class Collector {
public:
    explicit Collector(ShimCases& out) : m_out(out) {}

    void add(const ZooProgram& program) {
        ++m_out.programs;
        if (!m_programs.insert(formOfProgram(program)).second)
            return;
        ++m_out.forms;
        std::set<std::string> wanted = variantsOf(program.request);
        for (const double units : multiprocessors)
            for (int64_t size : sizes)
                if (auto made = wanted.empty() ? std::nullopt : shrinkFor(program, size, units);
                    made && workOf(*made->program).flops <= mostWork)
                    take(program, std::move(*made), wanted);
        for (const std::string& variant : wanted)
            m_out.left.push_back(whyLeft(program, variant));
    }

private:
    static std::optional<ShrunkProgram> shrinkFor(const ZooProgram& program, int64_t size,
                                                  double units) {
        auto made = shrink(program.request, size);
        if (made && units > 0)
            made->request.profile = &withMultiprocessors(*program.request.profile, units);
        return made;
    }

    static const DeviceProfile& withMultiprocessors(const DeviceProfile& profile, double units) {
        static std::map<double, DeviceProfile> made;
        DeviceProfile small = profile;
        small.units = units;
        return made.emplace(units, std::move(small)).first->second;
    }

    /// The first size that has the variant, or what the largest one says of it.
    static LeftVariant whyLeft(const ZooProgram& program, const std::string& variant) {
        LeftVariant out{describe(program), variant, LeftVariant::Why::NoSmallForm,
                        "there is no smaller form of such a program"};
        for (int64_t size : sizes)
            for (const double units : multiprocessors) {
                auto made = shrinkFor(program, size, units);
                if (!made)
                    continue;
                out.why = LeftVariant::Why::Refused;
                if (variantsOf(made->request).contains(variant)) {
                    out.why = LeftVariant::Why::Work;
                    out.text = fmt::format("the first such size, {}, takes {} operations, the "
                                           "evaluator is given {}",
                                           size, workOf(*made->program).flops, mostWork);
                    return out;
                }
                for (const Reason& reason : gpu::emitAll(made->request).refused)
                    if (!reason.facts.empty() && reason.facts.back().value == variant)
                        out.text = fmt::format("size {}: {}", size, reason.text());
            }
        return out;
    }

    /// Takes the kernels of variants that are still wanted.
    void take(const ZooProgram& program, ShrunkProgram made, std::set<std::string>& wanted) {
        if (wanted.empty())
            return;
        std::vector<gpu::KernelSet> sets;
        variantsOf(made.request, &sets);
        std::erase_if(sets, [&](const gpu::KernelSet& set) {
            if (wanted.erase(set.variant) == 0)
                return true;
            bool fresh = false;
            for (const gpu::KernelText& kernel : set.kernels)
                fresh = m_kernels.insert(formOf(codeOf(kernel))).second || fresh;
            return !fresh;
        });
        if (!sets.empty())
            m_out.cases.push_back({describe(program), std::move(made), std::move(sets)});
    }

    ShimCases& m_out;
    std::set<std::string> m_programs, m_kernels; ///< forms
};

} // namespace

ShimCases shimCases() {
    ShimCases out;
    Collector collector(out);
    for (const zoo::ZooEntry& entry : zoo::models())
        for (Precision precision : {Precision::Fp32, Precision::Fp16})
            for (const ZooProgram& program : programsOf(entry.name, precision))
                collector.add(program);
    return out;
}

} // namespace fuselage::gpu_zoo
