// SPDX-License-Identifier: Apache-2.0
// Processor time of this process, for benchmarks that run beside other work.
#pragma once

#include <sys/resource.h>

namespace fuselage::bench {

inline double processorSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace fuselage::bench
