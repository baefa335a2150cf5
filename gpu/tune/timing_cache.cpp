// SPDX-License-Identifier: Apache-2.0
#include "gpu/tune/timing_cache.h"

#include "core/support/file.h"
#include "gpu/tune/timing_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fuselage::gpu {

namespace {

constexpr uint64_t largestFile = 256U << 20;

constexpr const char *crashed = "device.crashed", *putOff = "put-off";

/// What one process saw of a candidate that others may have seen otherwise.
int weightOf(const CandidateRecord& record) {
    if (isCondemned(record))
        return record.refused == crashed ? 1 : 3;
    return isPutOff(record) ? -1 : record.rounds != 0 ? 2 : 0;
}

/// Weight, more rounds, then the smaller text: a total order, so merging never depends on order.
bool better(const CandidateRecord& a, const CandidateRecord& b) {
    if (weightOf(a) != weightOf(b))
        return weightOf(a) > weightOf(b);
    return a.rounds != b.rounds ? a.rounds > b.rounds : recordText(a) < recordText(b);
}

} // namespace

bool isCondemned(const CandidateRecord& record) {
    for (const char* code : {"wrong-result", "first-call", "device.lost", "device.hung", crashed})
        if (record.refused == code)
            return true;
    return false;
}

bool isPutOff(const CandidateRecord& record) {
    return record.refused == putOff;
}

CandidateRecord putOffRecord(const std::string& name) {
    CandidateRecord out;
    out.name = name;
    out.refused = putOff;
    out.why = "not measured, since a first result did not wait for it";
    return out;
}

const TimingEntry* TimingCache::find(const TacticKey& key) const {
    auto found = m_entries.find(key);
    return found == m_entries.end() ? nullptr : &found->second;
}

void TimingCache::add(const TacticKey& key, const TimingEntry& entry) {
    TimingEntry& known = m_entries[key];
    for (const CandidateRecord& raw : entry) {
        CandidateRecord record = normalised(raw);
        auto place = std::lower_bound(
            known.begin(), known.end(), record.name,
            [](const CandidateRecord& at, const std::string& name) { return at.name < name; });
        if (place == known.end() || place->name != record.name)
            known.insert(place, std::move(record));
        else if (better(record, *place))
            *place = std::move(record);
    }
}

void TimingCache::merge(const TimingCache& other) {
    for (const auto& [key, entry] : other.m_entries)
        add(key, entry);
}

TimingCache TimingCache::condemned() const {
    TimingCache out;
    for (const auto& [key, entry] : m_entries)
        for (const CandidateRecord& record : entry)
            if (isCondemned(record))
                out.add(key, {record});
    return out;
}

std::string TimingCache::text() const {
    std::string out = timingCacheHeader() + "\n";
    for (const auto& [key, entry] : m_entries)
        out += timingLine(key, entry) + "\n";
    return out;
}

Result<LoadedCache> parseTimingCache(std::string_view text, const std::string& where) {
    LoadedCache out;
    size_t number = 0;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (++number == 1) {
            if (!isTimingCacheHeader(line))
                return failure("cache.format", "line 1 is not the header of a timing cache", where,
                               "name a file that `fuselage` wrote, or a new one");
            continue;
        }
        if (line.find_first_not_of(" \t\r") == std::string_view::npos)
            continue;
        auto parsed = parseTimingLine(line);
        if (!parsed)
            out.problems.push_back({number, parsed.error().message});
        else
            out.cache.add(parsed->first, parsed->second);
    }
    return out;
}

Result<LoadedCache> loadTimingCache(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !error)
        return LoadedCache{};
    const uint64_t size = std::filesystem::file_size(path, error);
    if (error)
        return failure("cache.read", "the timing cache cannot be read: " + error.message(), path);
    if (size > largestFile)
        return failure(
            "cache.read",
            fmt::format("the timing cache has {} bytes, the limit is {}", size, largestFile), path,
            "remove old keys with `fuselage cache prune`");
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file)
        return failure("cache.read", "the timing cache cannot be read", path);
    return parseTimingCache(text.str(), path);
}

Result<void> replaceTimingCache(const TimingCache& cache, const std::string& path) {
    return writeFile(cache.text(), path);
}

Result<void> saveTimingCache(const TimingCache& cache, const std::string& path) {
    auto held = lockFile(path, "the timing cache");
    if (!held)
        return failure(held.error());
    auto known = loadTimingCache(path);
    if (!known)
        return failure(known.error());
    known->cache.merge(cache);
    return replaceTimingCache(known->cache, path);
}

} // namespace fuselage::gpu
