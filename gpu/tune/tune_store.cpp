// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/tune_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <unistd.h>

namespace fuselage::gpu {

namespace {

namespace fs = std::filesystem;

/// A process keeps its number when it starts itself again.
std::string ownFile() {
    std::error_code error;
    return (fs::temp_directory_path(error) / fmt::format("fuselage-{}.refused", ::getpid()))
        .string();
}

} // namespace

Result<TuneStore> TuneStore::open(const TuneOptions& options, const std::string& cacheFolder,
                                  bool readOnly) {
    TuneStore out;
    out.m_readOnly = readOnly;
    out.m_measurements = !options.timingCache.empty();
    const bool own = !out.m_measurements && cacheFolder.empty();
    out.m_path = out.m_measurements ? options.timingCache
                 : own              ? ownFile()
                                    : cacheFolder + "/refused.timing_cache";
    auto loaded = loadTimingCache(out.m_path);
    if (!loaded && out.m_measurements)
        return failure(loaded.error());
    if (own) {
        std::error_code error;
        fs::remove(out.m_path, error);
    }
    if (loaded && (!own || options.starts > 0))
        out.cache = std::move(loaded->cache);
    if (own || readOnly) {
        out.m_journal = std::make_unique<TrialJournal>();
    } else {
        out.m_journal = std::make_unique<TrialJournal>(out.m_path, options.starts);
    }
    if (own)
        return out;
    const TimingCache left = leftTrials(out.m_path, options.starts, !readOnly);
    out.cache.merge(left);
    if (!left.entries().empty())
        if (auto saved = out.save(); !saved)
            return failure(saved.error());
    return out;
}

void TuneStore::learned(double everySeconds) {
    ++m_measured;
    const std::chrono::duration<double> wait(everySeconds);
    if (!m_saved || std::chrono::steady_clock::now() - *m_saved >= wait)
        (void)save();
}

Result<void> TuneStore::save() {
    m_saved = std::chrono::steady_clock::now();
    if (m_readOnly)
        return {};
    if (m_measurements)
        return saveTimingCache(cache, m_path);
    const TimingCache condemned = cache.condemned();
    return condemned.entries().empty() ? Result<void>() : saveTimingCache(condemned, m_path);
}

} // namespace fuselage::gpu
