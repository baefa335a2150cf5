// SPDX-License-Identifier: Apache-2.0
#include "tests/support/choices.h"

namespace fuselage::testing_support {

int64_t Choices::below(int64_t bound) {
    const auto limit = static_cast<uint64_t>(bound);
    uint32_t number = 0;
    if (m_random)
        number = static_cast<uint32_t>(m_engine() % limit);
    else if (m_drawn.size() < m_given.size())
        number = static_cast<uint32_t>(m_given[m_drawn.size()] % limit);
    m_drawn.push_back(number);
    return number;
}

namespace {

class Shrinker {
public:
    Shrinker(ChoiceList failing, const std::function<bool(const ChoiceList&)>& fails, size_t tries)
        : m_best(std::move(failing)), m_fails(fails), m_left(tries) {}

    ChoiceList run() {
        for (bool smaller = true; smaller && m_left > 0;) {
            smaller = false;
            for (size_t length : {16U, 8U, 4U, 3U, 2U, 1U})
                smaller = leaveOut(length) || smaller;
            smaller = lessen() || smaller;
        }
        return m_best;
    }

private:
    bool accept(ChoiceList candidate) {
        if (m_left == 0)
            return false;
        --m_left;
        if (!m_fails(candidate))
            return false;
        m_best = std::move(candidate);
        return true;
    }

    bool leaveOut(size_t length) {
        bool any = false;
        for (size_t end = m_best.size(); end >= length && m_left > 0; --end) {
            ChoiceList candidate = m_best;
            const auto last = candidate.begin() + static_cast<ptrdiff_t>(end);
            candidate.erase(last - static_cast<ptrdiff_t>(length), last);
            any = accept(std::move(candidate)) || any;
            end = std::min(end, m_best.size() + 1);
        }
        return any;
    }

    bool lessen() {
        bool any = false;
        for (size_t i = 0; i < m_best.size() && m_left > 0; ++i)
            for (uint32_t to : {0U, m_best[i] / 2, m_best[i] - 1}) {
                if (m_best[i] == 0 || to >= m_best[i])
                    break;
                ChoiceList candidate = m_best;
                candidate[i] = to;
                any = accept(std::move(candidate)) || any;
            }
        return any;
    }

    ChoiceList m_best;
    const std::function<bool(const ChoiceList&)>& m_fails;
    size_t m_left;
};

} // namespace

ChoiceList shrunk(ChoiceList failing, const std::function<bool(const ChoiceList&)>& fails,
                  size_t tries) {
    return Shrinker(std::move(failing), fails, tries).run();
}

} // namespace fuselage::testing_support
