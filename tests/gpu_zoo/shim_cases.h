// SPDX-License-Identifier: Apache-2.0
// The programs of zoo models that run in the shim: one of each form, shrunk as far as the kernels
// stay of the same variants, with the kernels that need no tensor cores.
#pragma once

#include "tests/gpu_zoo/shrink.h"
#include "tests/gpu_zoo/zoo_programs.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fuselage::gpu_zoo {

struct ShimCase {
    std::string name; ///< describe() of the program it was made from
    ShrunkProgram made;
    std::vector<gpu::KernelSet> sets; ///< that no case before has in this form
};

/// A variant of a form of program that no small size has.
struct LeftVariant {
    enum class Why : uint8_t {
        NoSmallForm, ///< of such a program
        Work,        ///< the sizes that have it take the evaluator too long
        Refused,     ///< by all sizes: shrinking lost something
    };

    std::string program, variant;
    Why why = Why::Refused;
    std::string text; ///< why, in words
};

struct ShimCases {
    std::vector<ShimCase> cases;
    size_t programs = 0; ///< of all models
    size_t forms = 0;    ///< among them
    std::vector<LeftVariant> left;
};

/// The same in every process.
ShimCases shimCases();

} // namespace fuselage::gpu_zoo
