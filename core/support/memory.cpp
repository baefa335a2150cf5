// SPDX-License-Identifier: Apache-2.0
#include "core/support/memory.h"

#include <algorithm>
#include <sys/resource.h>
#include <unistd.h>

namespace fuselage {

int64_t machineMemory() {
    static const int64_t bytes = [] {
        int64_t out = INT64_MAX;
        const int64_t pages = sysconf(_SC_PHYS_PAGES);
        const int64_t pageBytes = sysconf(_SC_PAGESIZE);
        if (pages > 0 && pageBytes > 0)
            out = pages * pageBytes;
        rlimit limit{};
        if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(out))
            out = static_cast<int64_t>(limit.rlim_cur);
        return std::max<int64_t>(out, 1);
    }();
    return bytes;
}

} // namespace fuselage
