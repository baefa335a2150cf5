// SPDX-License-Identifier: Apache-2.0
// No step of a zoo model needs the host: some generated kernel accepts each program, on an
// H200 and on the oldest and smallest device.
#include "app/zoo/zoo.h"
#include "gpu/kernels/variant_table.h"
#include "tests/gpu_zoo/zoo_programs.h"

#include <gtest/gtest.h>

#include <optional>

namespace {

using namespace fuselage;

class ZooModel : public testing::TestWithParam<std::string> {};

void expectKernels(const std::string& model, Precision precision,
                   const std::string& arch = "sm_90") {
    const std::optional<app::LoadedModel> loaded = gpu_zoo::prepared(model);
    ASSERT_TRUE(loaded);
    const std::vector<gpu_zoo::ZooProgram> programs =
        gpu_zoo::programsOf(model, *loaded, precision, arch);
    ASSERT_FALSE(programs.empty());
    for (const gpu_zoo::ZooProgram& program : programs) {
        const gpu::Candidates candidates = gpu::emitAll(program.request);
        if (!candidates.accepted.empty())
            continue;
        std::string why;
        for (const Reason& reason : candidates.refused)
            why += "\n    " + reason.facts.back().value + ": " + reason.text();
        ADD_FAILURE() << gpu_zoo::describe(program) << why;
    }
}

TEST_P(ZooModel, hasAGeneratedKernelForEveryStepInFloat32) {
    expectKernels(GetParam(), Precision::Fp32);
}

TEST_P(ZooModel, hasAGeneratedKernelForEveryStepInFloat16) {
    expectKernels(GetParam(), Precision::Fp16);
}

TEST_P(ZooModel, hasAGeneratedKernelForEveryStepOnTheOldestDevice) {
    expectKernels(GetParam(), Precision::Fp16, "sm_75");
}

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const zoo::ZooEntry& entry : zoo::models())
        out.push_back(entry.name);
    return out;
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooModel, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

} // namespace
