// SPDX-License-Identifier: Apache-2.0
// Generator: writes every kernel of the suite as one C++ file to the path given.
#include "tests/shim/suite.h"
#include "tests/shim/suite_text.h"

#include <cstdio>
#include <set>

using namespace fuselage;

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: emit_suite OUTPUT\n");
        return 2;
    }
    gpu_suite::SuiteText text;
    std::set<std::string> names;
    for (const gpu_suite::Case& source : gpu_suite::cases()) {
        if (source.compileOnly)
            continue;
        const gpu_suite::Prepared prepared = gpu_suite::prepare(source);
        if (!prepared.program) {
            std::fprintf(stderr, "case %s does not lower\n", source.name.c_str());
            return 1;
        }
        for (const gpu::KernelSet& set : gpu::emitAll(prepared.request).accepted)
            for (const gpu::KernelText& kernel : set.kernels)
                if (names.insert(kernel.name).second)
                    text.add(kernel, "case " + source.name);
    }
    return gpu_suite::writeText(argv[1], text.file("simt::kernels")) ? 0 : 1;
}
