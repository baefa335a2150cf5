// SPDX-License-Identifier: Apache-2.0
// What the grammar does besides shape: store spans, record a failed expectation and skip to a place
// from which parsing can go on. Private to the grammar's files.
#pragma once

#include "core/support/diagnostic.h"
#include "dsl/tokens.h"

#include <boost/spirit/home/x3.hpp>

#include <functional>
#include <optional>

/// A parser with an action is called like the parser itself in messages.
template <typename Subject, typename Action>
struct boost::spirit::x3::get_info<boost::spirit::x3::action<Subject, Action>> {
    using result_type = std::string;

    std::string operator()(const boost::spirit::x3::action<Subject, Action>& parser) const {
        return boost::spirit::x3::what(parser.subject);
    }
};

namespace fuselage::dsl {

/// How deep brackets and expressions may nest.
constexpr size_t nestingLimit = 100;

/// Handed through the parser by x3::with.
struct ParseState {
    const char* base = nullptr;
    std::string_view text;
    uint32_t source = 0;
    const std::vector<Token>* tokens = nullptr;
    Diagnostics* diagnostics = nullptr;
    uint32_t reportedUpTo = 0; ///< one more than the offset of the last report
    uint32_t silentFrom = ~0U; ///< an unclosed string begins here: say nothing behind it
    /// From a character that the language does not use to the end of its line: the same there.
    std::vector<std::pair<uint32_t, uint32_t>> silentLines = {};
    bool tooDeep = false;
    bool isTrial = false; ///< only the place of the first error is asked for
    std::optional<uint32_t> firstError;
    size_t advised = 0; ///< errors that were given advice

    /// The place of a piece of text without the space behind it, which X3 may have skipped.
    Span span(const char* first, const char* last) const {
        while (last > first && (last[-1] == ' ' || last[-1] == '\n' || last[-1] == '\t'))
            --last;
        return {source, static_cast<uint32_t>(first - base), static_cast<uint32_t>(last - base)};
    }

    /// Records that `expected` (an X3 description) does not stand at `where`.
    void report(const char* where, const std::string& expected);

    /// Where to go on after an error at `where` in an element that began at `first`: behind the
    /// next `;`, or before a closing brace or an item. `isItem` also skips the braces of an item.
    const char* recover(const char* first, const char* where, bool isItem) const;

    void reportDepth(const Span& span);
};

struct StateTag;

template <typename Context> ParseState& stateOf(const Context& context) {
    return boost::spirit::x3::get<StateTag>(context).get();
}

/// Base of a rule's class for elements behind which parsing can go on.
template <bool isItem> struct Recovering {
    template <typename Iterator, typename Error, typename Context>
    boost::spirit::x3::error_handler_result on_error(Iterator& first, const Iterator&,
                                                     const Error& error, const Context& context) {
        ParseState& state = stateOf(context);
        state.report(error.where(), error.which());
        const char* next = state.recover(first, error.where(), isItem);
        if (next == first)
            return boost::spirit::x3::error_handler_result::fail;
        first = next;
        return boost::spirit::x3::error_handler_result::accept;
    }
};

} // namespace fuselage::dsl
