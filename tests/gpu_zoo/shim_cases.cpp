// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_zoo/shim_cases.h"

#include "app/zoo/zoo.h"
#include "tests/gpu_zoo/zoo_kernels.h"

#include <algorithm>
#include <set>

namespace fuselage::gpu_zoo {

namespace {

/// Tried in turn, until the kernels are of the same variants.
constexpr int64_t sizes[] = {5, 13, 24, 33, 48, 70, 160, 400, 1100};
constexpr int64_t mostWork = int64_t{1} << 23; ///< FLOPs that the evaluator does in no time

bool usesMatrixUnits(const gpu::KernelSet& set) {
    return std::any_of(set.kernels.begin(), set.kernels.end(), [](const gpu::KernelText& kernel) {
        return kernel.source.find("loadFragments") != std::string::npos;
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

std::set<std::string> variantsOf(const gpu::EmitRequest& request,
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
        for (int64_t size : sizes)
            if (auto made = shrink(program.request, size);
                made && workOf(*made->program).flops <= mostWork)
                take(program, std::move(*made), wanted);
        for (const std::string& variant : wanted)
            m_out.left.push_back(describe(program) + ": " + variant);
    }

private:
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
