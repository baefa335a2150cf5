// SPDX-License-Identifier: Apache-2.0
// The timing cache: per key every candidate with what was measured or why it was refused, as sorted
// text of one JSON object a line, so that a diff can be reviewed and two files can be merged. A
// cache only ever holds measurements; predictions are not kept.
#pragma once

#include "core/ops/numeric_class.h"
#include "core/support/reason.h"
#include "core/support/result.h"
#include "gpu/tune/tactic_key.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuselage::gpu {

/// One candidate of one key.
struct CandidateRecord {
    std::string name;        ///< Tactic::name()
    double median = 0;       ///< microseconds of one run, rounded to a nanosecond
    double spread = 0;       ///< microseconds from the 10th to the 90th percentile
    uint32_t rounds = 0;     ///< clean rounds behind the median; 0: not measured
    bool eliminated = false; ///< hopeless after the first rounds: fewer rounds than the others
    bool fallback = false;   ///< a last resort (TacticFacts::fallback)
    bool deterministic = true;
    int64_t workspace = 0;              ///< bytes
    uint32_t registers = 0, spills = 0; ///< of a thread; spills in bytes
    NumericClass numeric = NumericClass::Exact;
    std::string notes;
    std::string refused; ///< code of the reason, empty when it was measured
    std::string why;     ///< its sentence

    friend bool operator==(const CandidateRecord&, const CandidateRecord&) = default;
};

/// The candidate ran and must not run again: it computes something else, or took the device or the
/// program with it, or its first call in a plan failed. Codes "wrong-result", "first-call",
/// "device.lost", "device.hung", "device.crashed".
bool isCondemned(const CandidateRecord& record);

/// Not built so far, since a first result did not wait for it: any other record replaces this one.
bool isPutOff(const CandidateRecord& record);
CandidateRecord putOffRecord(const std::string& name);

/// Candidates by name.
using TimingEntry = std::vector<CandidateRecord>;

class TimingCache {
public:
    /// Null when nothing is known of the key.
    const TimingEntry* find(const TacticKey& key) const;

    /// Per candidate what condemns it stays, but a crash only where nobody measured it (the program
    /// may have been killed); then the record with more rounds, of equals the one whose text is
    /// smaller: the order of additions never matters.
    void add(const TacticKey& key, const TimingEntry& entry);
    void merge(const TimingCache& other);

    const std::map<TacticKey, TimingEntry>& entries() const { return m_entries; }

    void erase(const TacticKey& key) { m_entries.erase(key); }

    /// Only what is condemned.
    TimingCache condemned() const;

    /// The file: a header and one line a key, sorted.
    std::string text() const;

private:
    std::map<TacticKey, TimingEntry> m_entries;
};

/// A line that was skipped.
struct CacheProblem {
    size_t line = 0; ///< from 1
    std::string message;
};

struct LoadedCache {
    TimingCache cache;
    std::vector<CacheProblem> problems;
};

/// Error "cache.format": the first line is not that of a cache this program can read.
Result<LoadedCache> parseTimingCache(std::string_view text, const std::string& where);

/// A missing file is an empty cache. Errors "cache.read", "cache.format".
Result<LoadedCache> loadTimingCache(const std::string& path);

/// Adds what the file holds meanwhile and replaces it, under a lock beside it: writers of several
/// processes lose nothing. Errors "save.write", "cache.format".
Result<void> saveTimingCache(const TimingCache& cache, const std::string& path);

/// Replaces the file with exactly this content.
Result<void> replaceTimingCache(const TimingCache& cache, const std::string& path);

} // namespace fuselage::gpu
