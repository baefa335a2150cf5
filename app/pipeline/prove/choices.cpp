// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/choices.h"

#include <algorithm>

namespace fuselage::app {

uint64_t sampleSeed(uint64_t seed, uint64_t attempt) {
    uint64_t mixed = seed * 0x9E3779B97F4A7C15ULL + attempt * 0xBF58476D1CE4E5B9ULL + 1;
    mixed ^= mixed >> 31;
    return mixed * 0x94D049BB133111EBULL;
}

namespace {

/// The same in both orders. Two pairs that mix to one would be counted as one, no more.
uint64_t mixed(const PairCoverage::Taken& a, const PairCoverage::Taken& b) {
    const uint64_t first = sampleSeed(a.point + 1, a.answer),
                   second = sampleSeed(b.point + 1, b.answer);
    return first == second ? first : first + second;
}

} // namespace

uint32_t PairCoverage::triedTogether(const Taken& a, const Taken& b) const {
    const auto found = m_tried.find(mixed(a, b));
    return found == m_tried.end() ? 0 : found->second;
}

uint32_t PairCoverage::rarest(const std::vector<Taken>& before, uint64_t point,
                              uint32_t count) const {
    uint32_t best = 0;
    uint64_t bestTried = UINT64_MAX;
    for (uint32_t answer = 0; answer < count; ++answer) {
        uint64_t tried = triedTogether({point, answer}, {point, answer});
        for (const Taken& other : before)
            tried += triedTogether(other, {point, answer});
        if (tried < bestTried) {
            best = answer;
            bestTried = tried;
        }
    }
    return best;
}

void PairCoverage::add(const std::vector<Taken>& taken) {
    for (size_t i = 0; i < taken.size(); ++i)
        for (size_t j = i; j < taken.size(); ++j)
            ++m_tried[mixed(taken[i], taken[j])];
}

uint32_t Choices::next(uint32_t count, uint32_t drawn) {
    uint32_t answer = drawn;
    if (!m_coverage) {
        size_t index = m_taken.size();
        answer = index < m_replay.size() ? std::min(m_replay[index], count - 1) : 0;
    }
    m_taken.push_back(answer);
    return answer;
}

uint32_t Choices::pick(uint32_t count) {
    if (count <= 1)
        return 0;
    return next(count, static_cast<uint32_t>(m_random() % count));
}

bool Choices::rarely(uint32_t percent) {
    return next(2, m_random() % 100 < percent ? 1 : 0) == 1;
}

uint32_t Choices::structural(uint64_t point, uint32_t count) {
    if (count <= 1)
        return 0;
    // Now and then at random: what is rarest may be what never works.
    uint32_t drawn = 0;
    if (m_isSimple)
        drawn = m_random() % 8 == 0 ? static_cast<uint32_t>(m_random() % count) : 0;
    else if (m_coverage)
        drawn = m_random() % 3 == 0 ? static_cast<uint32_t>(m_random() % count)
                                    : m_coverage->rarest(m_structure, point, count);
    uint32_t answer = next(count, drawn);
    m_structure.push_back({point, answer});
    return answer;
}

} // namespace fuselage::app
