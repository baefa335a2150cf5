// SPDX-License-Identifier: Apache-2.0
// Generator: writes the kernels of shimCases() as C++ files OUTPUT_0.cpp, OUTPUT_1.cpp ... that the
// test links, and says how many there are. --list: what no small size has.
#include "tests/gpu_zoo/shim_cases.h"
#include "tests/shim/suite_text.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

using namespace fuselage;

int main(int argc, char** argv) {
    const bool list = argc == 2 && std::string(argv[1]) == "--list";
    const int files = argc == 3 ? std::atoi(argv[2]) : 0;
    if (!list && files < 1) {
        std::fprintf(stderr, "usage: emit_zoo_suite OUTPUT FILES | --list\n");
        return 2;
    }
    const gpu_zoo::ShimCases all = gpu_zoo::shimCases();
    std::vector<gpu_suite::SuiteText> texts(static_cast<size_t>(files));
    std::set<std::string> names;
    for (const gpu_zoo::ShimCase& one : all.cases)
        for (const gpu::KernelSet& set : one.sets)
            for (const gpu::KernelText& kernel : set.kernels) {
                if (list)
                    std::printf("%s %s\n", kernel.name.c_str(), one.name.c_str());
                else if (names.insert(kernel.name).second)
                    texts[names.size() % texts.size()].add(kernel, one.name);
            }
    if (list)
        for (const gpu_zoo::LeftVariant& left : all.left)
            std::printf("left: %s, %s: %s\n", left.program.c_str(), left.variant.c_str(),
                        left.text.c_str());
    std::printf("%zu programs, %zu forms, %zu cases with new kernels, %zu kernels, %zu left\n",
                all.programs, all.forms, all.cases.size(), names.size(), all.left.size());
    for (size_t i = 0; i < texts.size(); ++i)
        if (!gpu_suite::writeText(std::string(argv[1]) + "_" + std::to_string(i) + ".cpp",
                                  texts[i].file("zooKernels" + std::to_string(i))))
            return 1;
    return 0;
}
