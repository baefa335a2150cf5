// SPDX-License-Identifier: Apache-2.0
// Elements of the stand-in libraries: three float and three integer types in the memory of the
// stand-in driver, and strided tensors of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fakelibs {

enum class Element : uint8_t { Float32, Float16, BFloat16, Int8, UInt8, Int32 };

size_t sizeOf(Element type);
double load(const void* from, Element type);
/// Rounds to nearest, ties to even; to integers it cuts, so that what was not rounded before is
/// wrong.
void store(void* to, Element type, double value);
double rounded(Element type, double value);

using Numbers = std::vector<int64_t>;

int64_t countOf(const Numbers& extents);

/// A tensor somewhere in memory.
struct Strided {
    Element type = Element::Float32;
    Numbers extents, strides;

    int64_t offsetOf(int64_t element) const; ///< of element `element` in row-major order
    size_t spanBytes() const;                ///< from the first byte to the last
};

/// Whether all bytes that the tensor covers are of one live device allocation.
bool onDevice(const void* address, size_t bytes);

std::vector<double> read(const void* address, const Strided& tensor);
void write(void* address, const Strided& tensor, const std::vector<double>& values);

} // namespace fakelibs
