// SPDX-License-Identifier: Apache-2.0
// The kernels of zoo models, each distinct one once: what the compile gate takes. Two kernels are
// the same when their texts are, whatever their comments and names say; they are of one form when
// they differ in whole numbers only. Compiles nothing itself.
#pragma once

#include "tests/gpu_zoo/zoo_programs.h"

#include <set>
#include <string>
#include <vector>

namespace fuselage::gpu_zoo {

struct ZooKernel {
    std::string variant, from; ///< from: the first program it was made for
    std::string form;          ///< formOf() of its code
    gpu::KernelText text;
};

/// The distinct kernels of a model's programs that are not in `seen` yet.
std::vector<ZooKernel> kernelsOf(const std::vector<ZooProgram>& programs,
                                 std::set<std::string>& seen);

/// Text without comments, the kernel's name written as `kernel`: equal when the code is.
std::string codeOf(const gpu::KernelText& kernel);

/// Hash of code in which every whole number counts as the same.
std::string formOf(const std::string& code);

} // namespace fuselage::gpu_zoo
