// SPDX-License-Identifier: Apache-2.0
// Chooses between ways to compute one program. A prediction that is clear decides; where it is
// close, what was measured of the same program on this processor does: earlier in this process, or
// in another one through a file (choice_file.h). Only who asks for it measures (`bench`, `--tune`):
// everybody else gets the same choice for the same program every time.
#pragma once

#include "core/cpu/kernel.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fuselage::cpu {

/// One way to compute a program. Only the proportion of predicted times counts: any unit does that
/// all ways of the program share.
struct Way {
    const char* name; ///< says in reports and in the file what it is; no tab, no `=`
    double predicted;
    std::function<KernelResult(const PrepareContext&)> prepare;
};

/// Seconds on one thread by name of the way; infinite where it cannot be prepared.
using MeasuredWays = std::map<std::string, double, std::less<>>;

/// What was measured, by key. One lives as long as the backend, so that both sides of a comparison
/// choose alike.
class Choices {
public:
    /// Whether ways that are close may be measured.
    explicit Choices(bool measures = false) : m_measures(measures) {}

    bool measures() const { return m_measures; }

    /// Null where nothing is known of the key.
    const MeasuredWays* find(const std::string& key) const;

    /// Of what is known of a key already, the measurement that came first stays: whoever chose by
    /// it chooses so again.
    void add(const std::string& key, const MeasuredWays& ways);

    const std::map<std::string, MeasuredWays>& all() const { return m_ways; }

    /// Whether something was added since the last call.
    bool takeChanged() { return std::exchange(m_changed, false); }

    /// The key as it is kept: one line, no tabs.
    static std::string plain(std::string key);

private:
    bool m_measures;
    bool m_changed = false;
    std::map<std::string, MeasuredWays> m_ways;
};

/// The kernel of the fastest way, with a Reason in its fallbacks for each of the others. `key` says
/// all that the times depend on. On equal terms the earlier way is taken; a way that cannot be
/// prepared loses. At least one way; the error is that of the first.
KernelResult prepareFastest(const std::string& key, std::span<const Way> ways,
                            const PrepareContext& context);

} // namespace fuselage::cpu
