// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/trials.h"

#include "core/support/file.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace fuselage::gpu {

namespace {

namespace fs = std::filesystem;

/// When a process started, in ticks since the machine did; empty: there is none, or no way to know.
std::string startOf(long process) {
    auto stat = readFile(fmt::format("/proc/{}/stat", process));
    // The name of the program, in brackets, may hold anything.
    const size_t name = stat ? stat->rfind(')') : std::string::npos;
    if (name == std::string::npos)
        return {};
    size_t at = name;
    for (int field = 2; field < 22 && at != std::string::npos; ++field)
        at = stat->find(' ', at + 1);
    if (at == std::string::npos)
        return {};
    return stat->substr(at + 1, stat->find(' ', at + 1) - at - 1);
}

std::string prefixOf(const fs::path& cache) {
    return cache.filename().string() + ".trial.";
}

struct Owner {
    long process = 0, start = 0;
    int restarts = 0, number = 0;
};

bool isLeft(const Owner& owner, int restarts) {
    if (owner.process == static_cast<long>(::getpid()) &&
        startOf(owner.process) == std::to_string(owner.start))
        return owner.restarts < restarts; // of this process before it started itself again
    if (::kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH)
        return true;
    const std::string start = startOf(owner.process);
    return !start.empty() && start != std::to_string(owner.start);
}

} // namespace

TrialJournal::TrialJournal(const std::string& cache, int restarts) {
    static std::atomic<int> number{0};
    if (cache.empty())
        return;
    const long process = ::getpid();
    const fs::path path(cache);
    std::error_code error;
    if (path.has_parent_path())
        fs::create_directories(path.parent_path(), error);
    const std::string start = startOf(process);
    m_file = (path.parent_path() / fmt::format("{}{}.{}.{}.{}", prefixOf(path), process,
                                               start.empty() ? "0" : start, restarts, number++))
                 .string();
}

void TrialJournal::begin(const TacticKey& key, CandidateRecord candidate) {
    if (m_file.empty())
        return;
    candidate.refused = "device.crashed";
    candidate.why = "the program ended while this ran for the first time";
    TimingCache one;
    one.add(key, {std::move(candidate)});
    (void)replaceTimingCache(one, m_file);
}

void TrialJournal::end() {
    std::error_code error;
    if (!m_file.empty())
        fs::remove(m_file, error);
}

TimingCache leftTrials(const std::string& cache, int restarts, bool forget) {
    TimingCache out;
    if (cache.empty())
        return out;
    const fs::path path(cache);
    const std::string prefix = prefixOf(path);
    std::error_code error;
    for (fs::directory_iterator at(path.has_parent_path() ? path.parent_path() : ".", error), end;
         !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        Owner owner;
        int length = 0;
        if (!name.starts_with(prefix) ||
            std::sscanf(name.c_str() + prefix.size(), "%ld.%ld.%d.%d%n", &owner.process,
                        &owner.start, &owner.restarts, &owner.number, &length) != 4 ||
            prefix.size() + static_cast<size_t>(length) != name.size() || owner.process <= 0 ||
            !isLeft(owner, restarts))
            continue;
        if (auto left = loadTimingCache(at->path().string()))
            out.merge(left->cache);
        std::error_code gone;
        if (forget)
            fs::remove(at->path(), gone);
    }
    return out;
}

} // namespace fuselage::gpu
