// SPDX-License-Identifier: Apache-2.0
// Memory that lives as long as a prepared plan, taken from large chunks for which the kernel is
// asked for huge pages: weights are read once a run, and with small pages every one of them costs a
// miss.
#pragma once

#include "core/support/memory.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace fuselage::cpu {

class Pages {
public:
    /// 64-byte aligned, not initialised.
    std::byte* take(size_t bytes);

private:
    struct Free {
        void operator()(std::byte* memory) const;
    };

    std::vector<std::unique_ptr<std::byte, Free>> m_chunks;
    std::vector<HeldMemory> m_held; ///< one a chunk
    size_t m_left = 0; ///< of the last chunk
    std::byte* m_next = nullptr;
};

} // namespace fuselage::cpu
