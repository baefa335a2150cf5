// SPDX-License-Identifier: Apache-2.0
// The text of a kernel with a main() around it: allocates, fills from a seed, launches, compares.
// Built with `nvcc -std=c++17 FILE.cu`; files it reads lie beside it.
#pragma once

#include "gpu/emit/emit.h"

#include <string>

namespace fuselage::gpu {

class ReproText {
public:
    /// `name`: of the file without its ending.
    ReproText(const KernelSet& set, const KernelRequest& request, std::string name)
        : m_set(set), m_request(request), m_name(std::move(name)) {}

    std::string tableFile(size_t i) const { return file("table", i); }

    std::string packedFile(size_t i) const { return file("packed", i); }

    std::string inputFile(size_t i) const { return file("in", i); }

    /// Doubles, row-major; may be missing.
    std::string expectedFile(size_t i) const { return file("expected", i); }

    /// Integer constants are read from their files, other inputs come from seeds.
    std::string text(const std::string& arch) const;

private:
    std::string file(const char* kind, size_t i) const {
        return m_name + "." + kind + std::to_string(i) + ".bin";
    }

    std::string operandRow(const OperandLayout& layout, size_t seed, const std::string& file) const;
    std::string launches() const;

    const KernelSet& m_set;
    const KernelRequest& m_request;
    std::string m_name;
};

} // namespace fuselage::gpu
