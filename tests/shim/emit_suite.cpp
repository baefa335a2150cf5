// SPDX-License-Identifier: Apache-2.0
// Generator: writes every kernel of the suite, or with a second argument those whose traffic is
// counted, as one C++ file to the path given.
#include "gpu/kernels/variant_table.h"
#include "tests/shim/mutants.h"
#include "tests/shim/suite.h"
#include "tests/shim/suite_text.h"
#include "tests/shim/traffic_cases.h"

#include <cstdio>
#include <set>

using namespace fuselage;

namespace {

struct Writer {
    gpu_suite::SuiteText text;
    std::set<std::string> names;
    bool failed = false;

    /// `kernels`: those of a prepared case.
    void add(const gpu_suite::Prepared& prepared, const std::vector<gpu::KernelSet>& kernels) {
        for (const gpu::KernelSet& set : kernels)
            for (const gpu::KernelText& kernel : set.kernels)
                if (names.insert(kernel.name).second)
                    text.add(kernel, "case " + prepared.source.name);
    }

    bool lowered(const gpu_suite::Prepared& prepared) {
        if (!prepared.program)
            std::fprintf(stderr, "case %s does not lower\n", prepared.source.name.c_str());
        failed = failed || !prepared.program;
        return prepared.program != nullptr;
    }
};

void addSuite(Writer& writer) {
    for (const gpu_suite::Case& source : gpu_suite::cases()) {
        if (source.compileOnly)
            continue;
        const gpu_suite::Prepared prepared = gpu_suite::prepare(source);
        if (!writer.lowered(prepared))
            continue;
        writer.add(prepared, gpu::emitAll(prepared.request).accepted);
        for (const gpu_suite::Mutant& mutant : gpu_suite::allMutants())
            if (source.name == mutant.source)
                writer.add(prepared, {gpu_suite::mutated(prepared.request, mutant)});
    }
}

void addTraffic(Writer& writer) {
    for (const gpu_suite::Case& source : gpu_suite::trafficCases()) {
        const gpu_suite::Prepared prepared = gpu_suite::prepareTraffic(source);
        if (writer.lowered(prepared))
            writer.add(prepared, gpu_suite::trafficKernels(prepared));
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool traffic = argc == 3 && std::string(argv[2]) == "traffic";
    if (argc != 2 && !traffic) {
        std::fprintf(stderr, "usage: emit_suite OUTPUT [traffic]\n");
        return 2;
    }
    Writer writer;
    if (traffic)
        addTraffic(writer);
    else
        addSuite(writer);
    return !writer.failed && gpu_suite::writeText(argv[1], writer.text.file("simt::kernels")) ? 0
                                                                                              : 1;
}
