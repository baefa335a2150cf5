// SPDX-License-Identifier: Apache-2.0
// Memory that lives as long as a prepared plan, taken from chunks that grow with it; for large ones
// the kernel is asked for huge pages: weights are read once a run, and with small pages every one
// of them costs a miss.
#pragma once

#include "core/support/memory.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace fuselage::cpu {

/// What is packed for several plans of the same weights, as a loop keeps for the shapes of its
/// body: the same bytes are held once, as long as one of the plans lives. For any thread.
class SharedPages {
public:
    using Filled = std::shared_ptr<const std::byte>;

    /// `made`, or what was made before of the same bytes.
    Filled once(Filled made, size_t bytes);

private:
    std::mutex m_mutex;
    std::multimap<size_t, std::weak_ptr<const std::byte>> m_known; ///< by size
};

class Pages {
public:
    /// `shared`: of all plans that hold the same; null: what is filled here is held here.
    explicit Pages(std::shared_ptr<SharedPages> shared = nullptr) : m_shared(std::move(shared)) {}

    /// 64-byte aligned, not initialised.
    std::byte* take(size_t bytes);

    /// The same, filled now and only read from then on.
    const std::byte* filled(size_t bytes, const std::function<void(std::byte*)>& fill);

private:
    void grow(size_t least);

    std::vector<std::shared_ptr<const std::byte>> m_chunks;
    std::shared_ptr<SharedPages> m_shared;
    size_t m_total = 0; ///< of all chunks
    size_t m_left = 0;  ///< of the last chunk
    std::byte* m_next = nullptr;
};

} // namespace fuselage::cpu
