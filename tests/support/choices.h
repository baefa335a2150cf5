// SPDX-License-Identifier: Apache-2.0
// What a generator decides, as a list of numbers. A generator that draws everything from Choices
// can be repeated from the list, and shrinks without knowing what it makes: a shorter list of
// smaller numbers is a simpler result, since what is not in the list is 0 and 0 is the simplest
// choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace fuselage::testing_support {

using ChoiceList = std::vector<uint32_t>;

class Choices {
public:
    /// Draws at random, the same for the same seed.
    explicit Choices(uint32_t seed) : m_engine(seed), m_random(true) {}
    /// Repeats a list; zeros after its end.
    explicit Choices(ChoiceList given) : m_given(std::move(given)) {}

    /// From 0 to bound - 1; `bound` is at least 1.
    int64_t below(int64_t bound);

    bool oneIn(int64_t n) { return below(n) == n - 1; }

    template <typename T> const T& pick(const std::vector<T>& from) {
        return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
    }

    const ChoiceList& drawn() const { return m_drawn; }

private:
    std::mt19937 m_engine;
    bool m_random = false;
    ChoiceList m_given, m_drawn;
};

/// The smallest list found that still fails: leaves out numbers and makes them smaller, at most
/// `tries` calls of `fails`.
ChoiceList shrunk(ChoiceList failing, const std::function<bool(const ChoiceList&)>& fails,
                  size_t tries);

} // namespace fuselage::testing_support
