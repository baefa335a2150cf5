// SPDX-License-Identifier: Apache-2.0
// The decisions behind one generated sample, as a list of small numbers where 0 is always the
// simplest answer. A sample is a function of this list, so replaying it gives the sample again and
// lowering its numbers gives simpler ones: shrinking knows nothing about graphs.
#pragma once

#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

namespace fuselage::app {

/// How often pairs of structural decisions (alternatives, optional steps, attributes, kinds of
/// shapes) were tried together.
class PairCoverage {
public:
    struct Taken {
        uint64_t point = 0;
        uint32_t answer = 0;
    };

    /// The answer of `point` that met what was decided before least often.
    uint32_t rarest(const std::vector<Taken>& before, uint64_t point, uint32_t count) const;
    void add(const std::vector<Taken>& taken);

private:
    uint32_t triedTogether(const Taken& a, const Taken& b) const;

    std::unordered_map<uint64_t, uint32_t> m_tried; ///< by what both mix to
};

/// The seed of one attempt, mixed so that neighbouring attempts have nothing in common.
uint64_t sampleSeed(uint64_t seed, uint64_t attempt);

class Choices {
public:
    /// Draws from the seed; structural decisions go where `coverage` has been least, or, `simply`,
    /// are the simplest but for a few.
    Choices(uint64_t seed, const PairCoverage& coverage, bool simply = false)
        : m_random(seed), m_coverage(&coverage), m_isSimple(simply) {}

    /// Replays; beyond the end everything is 0.
    explicit Choices(std::vector<uint32_t> replay) : m_replay(std::move(replay)) {}

    /// A number below `count`.
    uint32_t pick(uint32_t count);
    /// True in about `percent` of 100.
    bool rarely(uint32_t percent);
    /// An alternative or optional step of the pattern, an attribute; `point` names it, 0: none.
    uint32_t structural(uint64_t point, uint32_t count);

    const std::vector<uint32_t>& taken() const { return m_taken; }

    const std::vector<PairCoverage::Taken>& structure() const { return m_structure; }

private:
    uint32_t next(uint32_t count, uint32_t drawn);

    std::mt19937_64 m_random;
    const PairCoverage* m_coverage = nullptr; ///< null when replaying
    bool m_isSimple = false;
    std::vector<uint32_t> m_replay;
    std::vector<uint32_t> m_taken;
    std::vector<PairCoverage::Taken> m_structure;
};

} // namespace fuselage::app
