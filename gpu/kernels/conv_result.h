// SPDX-License-Identifier: Apache-2.0
// The end of a convolution kernel: a thread holds accumulators of neighbouring channels at one
// place, reads what the epilogue needs, applies it and stores.
#pragma once

#include "gpu/kernels/conv_spec.h"

namespace fuselage::gpu {

class ConvResult {
public:
    /// `width`: channels a thread holds; `name` of the epilogue's function.
    ConvResult(const ConvSpec& spec, int width, const std::string& name);

    const TapeFunction& function() const { return m_function; }

    /// Declares the reads that depend on the channel alone, for channels from `c` on.
    std::string hoisted(const std::string& c, const std::string& indent) const;

    /// Computes z0[width], z1[width] ... from accumulators, an lvalue whose element of lane v is
    /// `accumulator` with "[v]" in it.
    std::string apply(const std::string& accumulator, const std::string& n, const std::string& c,
                      const std::string& y, const std::string& x, const std::string& indent) const;

    /// Stores them.
    std::string store(const std::string& n, const std::string& c, const std::string& y,
                      const std::string& x, const std::string& indent) const;

    /// Vector accesses of the stores.
    bool wideStores() const;

private:
    std::string lanes(const KernelOperand& read, const std::string& to, const std::string& n,
                      const std::string& c, const std::string& y, const std::string& x,
                      const std::string& indent) const;

    const ConvSpec& m_spec;
    int m_width;
    TapeFunction m_function;
};

} // namespace fuselage::gpu
