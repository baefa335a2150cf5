// SPDX-License-Identifier: Apache-2.0
// How busy the machine was with other things while something was measured: processor time of all
// processes, as the system counts it, less that of this one. Where that clock is too coarse, what
// was ready to run at both ends.
#pragma once

#include "app/pipeline/stopwatch.h"

#include <optional>

namespace fuselage::app {

class BusyWatch {
public:
    BusyWatch();

    /// Cores that others kept busy since construction, on average; none where the system does not
    /// say.
    std::optional<double> othersBusy() const;

private:
    Stopwatch m_watch;
    std::optional<double> m_all;   ///< processor seconds of the whole machine
    std::optional<double> m_ready; ///< others that were ready to run
    double m_own = 0;
};

} // namespace fuselage::app
