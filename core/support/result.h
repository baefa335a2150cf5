// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error, for failures of the environment (files, libraries, limits).
// User input that can hold many mistakes reports through Diagnostics instead.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace fuselage {

/// What went wrong, where, and what the person can do about it.
struct Error {
    std::string code;    ///< stable id for scripts and CI, e.g. "load.truncated"
    std::string message; ///< one lower-case sentence naming the construct
    std::string where;   ///< file, node or value, empty when the message says it
    std::string fix;     ///< one concrete next step, may be empty

    /// "where: message (fix)", the form printed on a terminal.
    std::string text() const {
        std::string out = where.empty() ? message : where + ": " + message;
        if (!fix.empty())
            out += " (" + fix + ")";
        return out;
    }
};

/// Wraps an Error so that it converts to any Result.
struct Failure {
    Error error;
};

inline Failure failure(std::string code, std::string message, std::string where = {},
                       std::string fix = {}) {
    return {{std::move(code), std::move(message), std::move(where), std::move(fix)}};
}

inline Failure failure(Error error) {
    return {std::move(error)};
}

/// A value or an Error. Test with `if (!result)`, then read `*result` or `result.error()`.
template <typename T> class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}

    Result(Failure failed) : m_state(std::in_place_index<1>, std::move(failed.error)) {}

    explicit operator bool() const { return m_state.index() == 0; }

    T& operator*() & { return checked(); }

    const T& operator*() const& { return const_cast<Result*>(this)->checked(); }

    T&& operator*() && { return std::move(checked()); }

    T* operator->() { return &checked(); }

    const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

    const Error& error() const {
        assert(m_state.index() == 1 && "error() of a Result that holds a value");
        return std::get<1>(m_state);
    }

private:
    T& checked() {
        assert(m_state.index() == 0 && "value of a Result that holds an Error");
        return std::get<0>(m_state);
    }

    std::variant<T, Error> m_state;
};

/// Success without a value, or an Error.
template <> class [[nodiscard]] Result<void> {
public:
    Result() = default;

    Result(Failure failed) : m_error(std::move(failed.error)) {}

    explicit operator bool() const { return !m_error; }

    const Error& error() const {
        assert(m_error && "error() of a successful Result");
        return *m_error;
    }

private:
    std::optional<Error> m_error;
};

} // namespace fuselage
