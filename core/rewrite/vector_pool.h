// SPDX-License-Identifier: Apache-2.0
// Vectors that keep their memory, for functions that call each other while each holds one.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace fuselage {

template <typename T> class VectorPool {
public:
    /// An empty vector until the end of the scope; loans end in the reverse order of their begin.
    class Loan {
    public:
        explicit Loan(VectorPool& pool) : m_pool(pool) {
            if (m_pool.m_lent == m_pool.m_all.size())
                m_pool.m_all.emplace_back();
            m_vector = &m_pool.m_all[m_pool.m_lent++];
            m_vector->clear();
        }

        ~Loan() { --m_pool.m_lent; }
        Loan(const Loan&) = delete;
        Loan& operator=(const Loan&) = delete;

        std::vector<T>& operator*() const { return *m_vector; }

    private:
        VectorPool& m_pool;
        std::vector<T>* m_vector;
    };

private:
    std::deque<std::vector<T>> m_all; ///< they stay where they are
    size_t m_lent = 0;
};

} // namespace fuselage
