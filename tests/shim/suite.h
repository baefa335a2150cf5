// SPDX-License-Identifier: Apache-2.0
// The cases that every kernel variant is tested with: bodies as text, how their operands lie in
// memory, and which variants must accept them. Run as host code by tests/shim, compiled for every
// architecture by tests/gpu_compile.
#pragma once

#include "gpu/emit/emit.h"

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace fuselage::gpu_suite {

/// Where an operand's dims lie in memory: `order` outermost first (empty: row-major), `pad` extra
/// elements after each step of the second innermost one.
struct Placement {
    std::vector<uint32_t> order;
    int64_t pad = 0;
    int64_t alignment = 16;
};

struct Case {
    std::string name;
    std::vector<std::string> bodies; ///< ONNX text; several make a Group
    bool chained = false;            ///< they make a Chain: two products, or a row and these
    std::string variants;            ///< that must accept it, blank-separated, in table order
    std::map<std::string, Placement> placements; ///< by "in0", "out1"
    bool strict = false;
    bool special = false;     ///< data with NaN and infinities
    bool finiteRest = false;  ///< in input 0 only
    bool compileOnly = false; ///< too large to run as host code
    bool tf32 = false;
    /// Of inputs and outputs whose types the text of ONNX has no words for: by name.
    std::map<std::string, DType> types;
    std::string constants;   ///< inputs that may be packed, blank-separated: "in1"
    int stored = -1;         ///< the input that is a constant when the body is lowered; -1: none
    uint32_t capability = 0; ///< of the device; 0: what all of them have
    int units = 0;           ///< its multiprocessors; 0: no profile
    int64_t sharedBytes = 0; ///< of each of them; 0: what every device gives a block
    NumericClass allowed = NumericClass::Reassociated;
};

/// Tests print a case by its name.
inline void PrintTo(const Case& source, std::ostream* out) {
    *out << source.name;
}

std::vector<Case> cases();

/// A case ready to emit; `program` stays at its address.
struct Prepared {
    Case source;
    std::unique_ptr<KernelProgram> program;
    std::unique_ptr<DeviceProfile> profile;
    gpu::KernelRequest request;
};

/// Lowers the bodies; an empty program and a message on stderr when that fails.
Prepared prepare(const Case& source);

} // namespace fuselage::gpu_suite
