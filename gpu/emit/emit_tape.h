// SPDX-License-Identifier: Apache-2.0
// A tape as one __device__ function: one const temporary an instruction. Float16 and bfloat16
// registers are float and rounded only where the tape says so (Cast) or in strict mode.
#pragma once

#include "core/ops/numeric_class.h"
#include "core/ops/tape.h"

#include <string>
#include <vector>

namespace fuselage::gpu {

/// C++ type of a register: float for the 16-bit floats.
const char* registerType(DType type);

/// C++ type of an element in memory; 16-bit floats are structs of gpu/device/types.cuh.
const char* storageType(DType type);

/// A constant of a register type, exact.
std::string floatLiteral(DType type, double value);
std::string integerLiteral(DType type, int64_t value);

struct TapeStyle {
    bool strict = false; ///< no contraction; 16-bit registers are rounded after each instruction
    bool narrow =
        false; ///< every result is stored in 16 bits: forms within 1 ULP of that may serve
    /// Per output, the type it is stored as: a last Cast to it is left to the store.
    std::vector<DType> stored;
    /// Per tape input (empty: none), whether its value is the same for a whole row: what depends on
    /// these alone is worth computing once, so narrow forms multiply by the inverse of a divisor.
    std::vector<bool> uniform;
};

/// x / 2 * (1 + erf(scale * x)) in any association.
struct GeluMatch {
    uint16_t result = 0, x = 0;
    double scale = 0;
};

/// Every register of the tape that is a GELU in the erf form.
std::vector<GeluMatch> findGelu(const Tape& tape);

/// A tape as text, and how to call it.
struct TapeFunction {
    std::string name;           ///< empty: the tape has no outputs
    std::string text;           ///< the whole function
    std::vector<uint16_t> used; ///< tape inputs that it takes, in order
    std::vector<DType> outputs;
    NumericClass numeric = NumericClass::Exact; ///< Wider when a narrow form was printed

    /// "name(a, b, out)": `inputs` by tape input, `results` are lvalues of the register types.
    std::string call(const std::vector<std::string>& inputs,
                     const std::vector<std::string>& results) const;
};

TapeFunction printTape(const std::string& name, const Tape& tape, const TapeStyle& style);

} // namespace fuselage::gpu
