// SPDX-License-Identifier: Apache-2.0
#include "core/support/memory.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace fuselage {

namespace {

std::atomic<int64_t> held = 0;

/// The number behind `key` in a file of lines "key number", or its first number without a key;
/// INT64_MAX where there is none.
int64_t numberIn(const std::string& path, const std::string& key = "") {
    std::ifstream file(path);
    std::string word;
    while (key.empty() || file >> word)
        if (key.empty() || word == key) {
            int64_t number = 0;
            return file >> number ? number : INT64_MAX;
        } else {
            file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
        }
    return INT64_MAX;
}

/// What the control group of this process may use: as a container sees it, else of its own path.
int64_t groupLimit() {
    std::ifstream groups("/proc/self/cgroup");
    std::string line, path;
    while (std::getline(groups, line))
        if (line.starts_with("0::"))
            path = line.substr(3);
    const std::string root = "/sys/fs/cgroup";
    int64_t limit =
        std::min(numberIn(root + "/memory.max"), numberIn(root + "/memory/memory.limit_in_bytes"));
    while (path.size() > 1) {
        limit = std::min(limit, numberIn(root + path + "/memory.max"));
        path.resize(path.find_last_of('/'));
    }
    return limit;
}

} // namespace

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
        return std::max<int64_t>(std::min(out, groupLimit()), 1);
    }();
    return bytes;
}

int64_t freeMemory() {
    const int64_t kibibytes = numberIn("/proc/meminfo", "MemAvailable:");
    const int64_t unused = kibibytes < INT64_MAX / 1024 ? kibibytes * 1024 : INT64_MAX;
    return std::clamp<int64_t>(machineMemory() - held, 0, unused);
}

HeldMemory::HeldMemory(int64_t bytes) : m_bytes(bytes) {
    held += m_bytes;
}

HeldMemory::~HeldMemory() {
    held -= m_bytes;
}

bool fitsInMemory(int64_t bytes) {
    constexpr int64_t large = int64_t(64) << 20;
    return bytes <= machineMemory() && (bytes < large || bytes <= freeMemory());
}

} // namespace fuselage
