// SPDX-License-Identifier: Apache-2.0
// Whether a kernel's machine code waits for the kernels before it ahead of everything else. The
// text says so, but that binds no compiler: an operand without aliases, as all of ours are, may be
// read on either side of an instruction that is said to change memory.
#pragma once

#include <string>
#include <string_view>

namespace fuselage::gpu {

/// Why the only kernel of a cubin must not be launched early: it does not wait, or only under a
/// condition, or something but reads of its parameters and of its thread's numbers comes first.
/// Empty: it may be; also of a stand-in's file, which is no ELF of NVIDIA's (a driver loads no such
/// file). Knows sm_90 and later; machine code that it does not know is not launched early.
std::string whyNotEarly(std::string_view cubin);

} // namespace fuselage::gpu
