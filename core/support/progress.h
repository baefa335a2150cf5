// SPDX-License-Identifier: Apache-2.0
// Progress and cancellation of long work. Callers pass a Progress down; workers report to it and
// ask it whether to stop. No global state.
#pragma once

#include "core/support/result.h"

#include <atomic>
#include <string_view>

namespace fuselage {

/// Receives progress; the base class ignores it. Calls may come from any thread.
class Progress {
public:
    virtual ~Progress() = default;

    /// `done` of `total` units of the named stage; total 0 means unknown.
    virtual void report(std::string_view stage, size_t done, size_t total) {
        (void)stage, (void)done, (void)total;
    }

    /// Asks all work under this Progress to stop; safe from a signal handler.
    void cancel() { m_cancelled.store(true, std::memory_order_relaxed); }

    bool cancelled() const { return m_cancelled.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> m_cancelled{false};
};

/// The Error that cancelled work returns.
inline Failure cancelledFailure(std::string_view stage) {
    return failure("cancelled", "cancelled during " + std::string(stage));
}

} // namespace fuselage
