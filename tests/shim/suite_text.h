// SPDX-License-Identifier: Apache-2.0
// Kernels as C++ files that tests link and run in the shim. The device helpers guard themselves, so
// a file compiles them once; each text is otherwise as the device gets it.
#pragma once

#include "gpu/emit/kernel_text.h"

#include <string>

namespace fuselage::gpu_suite {

/// One file of kernels.
class SuiteText {
public:
    /// `from` for a comment.
    void add(const gpu::KernelText& kernel, const std::string& from);

    /// The file: it defines `table`, "simt::kernels", a function that returns its kernels.
    std::string file(const std::string& table) const;

private:
    std::string m_kernels, m_wrappers, m_rows;
};

/// False with a message on stderr.
bool writeText(const std::string& path, const std::string& text);

} // namespace fuselage::gpu_suite
