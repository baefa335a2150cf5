// SPDX-License-Identifier: Apache-2.0
// One call of an operator that has a body -> the lines of the body that its conditions take, with
// numbers of the call in them.
#include "core/onnx/operator_body_internal.h"
#include "core/support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace fuselage::model_io {

namespace {

class Writer {
public:
    Writer(const OperatorBody& body, const Call& call) : m_body(body), m_call(call) {}

    WrittenBody write() {
        covered();
        for (const BodyLine& line : m_body.lines)
            if (m_refused.empty())
                read(line);
        if (m_refused.empty())
            complete();
        if (!m_refused.empty())
            return {{}, m_refused};
        return {
            fmt::format("<domain: \"{}\", opset_import: [\"\" : 24, \"com.microsoft\" : 1, "
                        "\"fuselage\" : 1, \"fuselage.body\" : 1]> {} <{}> ({}) => ({}) {{\n{}}}",
                        m_body.domain, m_body.name, joined(m_passed), joined(m_body.inputs),
                        joined(m_body.outputs), m_text),
            {}};
    }

private:
    struct Level {
        size_t indent;
        bool around; ///< the lines that it stands in are taken
        bool now;
        bool done; ///< one of its branches is taken
    };

    void refuse(std::string why) {
        if (m_refused.empty())
            m_refused = std::move(why);
    }

    void covered() {
        for (const auto& [name, value] : m_call.attributes)
            if (!m_body.attributes.contains(name))
                refuse(fmt::format("attribute `{}` is not covered", name));
        if (m_call.inputs.size() > m_body.inputs.size())
            refuse(fmt::format("input {} is not covered", m_body.inputs.size()));
        if (m_call.outputs.size() > m_body.outputs.size())
            refuse(fmt::format("output {} is not covered", m_body.outputs.size()));
    }

    /// Nothing that the call gives or asks for may be left out.
    void complete() {
        for (size_t i = 0; i < m_call.inputs.size(); ++i)
            if (m_call.inputs[i] && !m_read.contains(m_body.inputs[i]))
                refuse(fmt::format("input `{}` is not covered", m_body.inputs[i]));
        for (size_t i = 0; i < m_call.outputs.size(); ++i)
            if (m_call.outputs[i] && !m_made.contains(m_body.outputs[i]))
                refuse(fmt::format("output `{}` is not covered", m_body.outputs[i]));
    }

    bool taken() const {
        return m_levels.empty() || (m_levels.back().around && m_levels.back().now);
    }

    void read(const BodyLine& line) {
        const bool otherwise = line.text.starts_with("else:") || line.text.starts_with("elif ");
        while (!m_levels.empty() && (otherwise ? m_levels.back().indent > line.indent
                                               : m_levels.back().indent >= line.indent))
            m_levels.pop_back();
        if (line.text.starts_with("if ")) {
            const bool around = taken();
            const bool now = around && holds(inside(line.text, 3));
            m_levels.push_back({line.indent, around, now, now});
        } else if (otherwise) {
            assert(!m_levels.empty() && m_levels.back().indent == line.indent);
            Level& level = m_levels.back();
            const bool open = level.around && !level.done;
            level.now = open && (line.text.starts_with("else:") || holds(inside(line.text, 5)));
            level.done = level.done || level.now;
        } else if (taken()) {
            if (line.text.starts_with("refuse "))
                refuse(line.text.substr(8, line.text.size() - 9));
            else if (line.text.starts_with("ignore "))
                m_read.insert(line.text.substr(7));
            else
                state(line.text);
        }
    }

    static std::string_view inside(std::string_view line, size_t begin) {
        assert(line.ends_with(':'));
        return line.substr(begin, line.size() - begin - 1);
    }

    // Conditions: terms with commas between, all of which must hold.

    bool holds(std::string_view terms) {
        int depth = 0;
        size_t begin = 0;
        for (size_t i = 0; i <= terms.size(); ++i) {
            if (i < terms.size())
                depth += terms[i] == '(' ? 1 : terms[i] == ')' ? -1 : 0;
            if (i < terms.size() && (terms[i] != ',' || depth > 0))
                continue;
            if (!termHolds(terms.substr(begin, i - begin)))
                return false;
            begin = i + 1;
        }
        return true;
    }

    bool termHolds(std::string_view term) {
        m_expression = term;
        skipSpace();
        const bool inverse = takeWord("not ");
        for (std::string_view comparison : {"==", "!=", "<=", ">=", "<", ">"}) {
            const size_t at = m_expression.find(comparison);
            if (at != std::string_view::npos)
                return compare(m_expression.substr(0, at), comparison,
                               m_expression.substr(at + comparison.size())) != inverse;
        }
        skipSpace();
        return isThere(takeName()) != inverse;
    }

    bool isThere(const std::string& name) const {
        for (auto [all, given] : {std::pair(&m_body.inputs, &m_call.inputs),
                                  std::pair(&m_body.outputs, &m_call.outputs)})
            for (size_t i = 0; i < all->size(); ++i)
                if ((*all)[i] == name)
                    return i < given->size() && (*given)[i];
        const CallAttribute value = attribute(name);
        if (const auto* number = std::get_if<int64_t>(&value))
            return *number != 0;
        if (const auto* number = std::get_if<double>(&value))
            return *number != 0;
        return !std::holds_alternative<std::monostate>(value);
    }

    bool compare(std::string_view left, std::string_view comparison, std::string_view right) {
        const size_t quote = right.find('"');
        if (quote != std::string_view::npos) {
            m_expression = left;
            skipSpace();
            const std::string_view wanted = right.substr(quote + 1, right.rfind('"') - quote - 1);
            return (word() == wanted) == (comparison == "==");
        }
        std::string_view name = left.substr(0, left.find_last_not_of(' ') + 1);
        name.remove_prefix(std::min(name.size(), name.find_first_not_of(' ')));
        const CallAttribute value = attribute(std::string(name));
        if (const auto* real = std::get_if<double>(&value))
            return isOrdered(*real, comparison, static_cast<double>(number(right)));
        return isOrdered(number(left), comparison, number(right));
    }

    template <typename Number>
    static bool isOrdered(Number a, std::string_view comparison, Number b) {
        return comparison == "=="   ? a == b
               : comparison == "!=" ? a != b
               : comparison == "<=" ? a <= b
               : comparison == ">=" ? a >= b
               : comparison == "<"  ? a < b
                                    : a > b;
    }

    /// An attribute, or "type(X)".
    std::string word() {
        const std::string name = takeName();
        if (name != "type") {
            const CallAttribute value = attribute(name);
            const auto* found = std::get_if<std::string>(&value);
            return found ? *found : std::string();
        }
        takeWord("(");
        const std::string input = takeName();
        std::string found = m_call.type(indexOf(input));
        if (found.empty())
            refuse(fmt::format("the element type of `{}` is not known", input));
        return found;
    }

    size_t indexOf(const std::string& input) const {
        const auto at = std::find(m_body.inputs.begin(), m_body.inputs.end(), input);
        assert(at != m_body.inputs.end() && "rank, size and type are of an input");
        return static_cast<size_t>(at - m_body.inputs.begin());
    }

    CallAttribute attribute(const std::string& name) const {
        if (auto given = m_call.attributes.find(name); given != m_call.attributes.end())
            return given->second;
        auto covered = m_body.attributes.find(name);
        return covered == m_body.attributes.end() ? CallAttribute() : fromText(covered->second);
    }

    // Whole numbers: attributes, rank(X), size(X, axis), + - * / and brackets.

    int64_t number(std::string_view expression) {
        const std::string_view before = std::exchange(m_expression, expression);
        const int64_t out = sum();
        m_expression = before;
        return out;
    }

    int64_t checked(std::optional<int64_t> value) {
        if (!value)
            refuse("its numbers are too large");
        return value.value_or(1);
    }

    int64_t sum() {
        int64_t left = product();
        for (;;) {
            skipSpace();
            int64_t out = 0;
            if (takeWord("+"))
                left = checked(__builtin_add_overflow(left, product(), &out) ? std::nullopt
                                                                             : std::optional(out));
            else if (takeWord("-"))
                left = checked(__builtin_sub_overflow(left, product(), &out) ? std::nullopt
                                                                             : std::optional(out));
            else
                return left;
        }
    }

    int64_t product() {
        int64_t left = factor();
        for (;;) {
            skipSpace();
            int64_t out = 0;
            if (takeWord("*")) {
                left = checked(__builtin_mul_overflow(left, factor(), &out) ? std::nullopt
                                                                            : std::optional(out));
            } else if (takeWord("/")) {
                const int64_t divisor = factor();
                if (divisor <= 0 || left < 0 || left % divisor != 0)
                    refuse(fmt::format("{} is no multiple of {}", left, divisor));
                else
                    left /= divisor;
            } else {
                return left;
            }
        }
    }

    int64_t factor() {
        skipSpace();
        if (takeWord("(")) {
            const int64_t out = sum();
            skipSpace();
            takeWord(")");
            return out;
        }
        if (takeWord("-")) {
            int64_t out = 0;
            return checked(__builtin_sub_overflow(int64_t(0), factor(), &out) ? std::nullopt
                                                                              : std::optional(out));
        }
        if (!m_expression.empty() && std::isdigit(static_cast<unsigned char>(m_expression[0]))) {
            int64_t out = 0;
            const char* begin = m_expression.data();
            const auto read = std::from_chars(begin, begin + m_expression.size(), out);
            m_expression.remove_prefix(static_cast<size_t>(read.ptr - begin));
            return out;
        }
        const std::string name = takeName();
        if (name == "rank" || name == "size")
            return extent(name == "rank");
        if (name == "given")
            return isGiven();
        if (name == "known")
            return takeExtent(false).extent ? 1 : 0;
        if (name == "channel_block")
            return m_call.channelBlock;
        const CallAttribute value = attribute(name);
        if (const auto* found = std::get_if<int64_t>(&value))
            return *found;
        refuse(fmt::format("it has no number `{}`", name));
        return 1;
    }

    /// "given(X)", behind the word: 1 for an operand that is there, else 0.
    int64_t isGiven() {
        takeWord("(");
        const size_t input = indexOf(takeName());
        takeWord(")");
        return input < m_call.inputs.size() && m_call.inputs[input] ? 1 : 0;
    }

    struct Extent {
        std::string of;
        std::optional<int64_t> extent; ///< none: it is not known
    };

    /// "rank(X)" or "size(X, axis)", behind the word.
    int64_t extent(bool rank) {
        const Extent found = takeExtent(rank);
        if (!found.extent)
            refuse(fmt::format("the {} of `{}` is not known", rank ? "rank" : "shape", found.of));
        return found.extent.value_or(1);
    }

    Extent takeExtent(bool rank) {
        takeWord("(");
        const std::string name = takeName();
        int64_t axis = 0;
        skipSpace();
        if (takeWord(","))
            axis = sum();
        takeWord(")");
        const auto found = m_call.extents(indexOf(name));
        const auto count = found ? static_cast<int64_t>(found->size()) : 0;
        axis += axis < 0 ? count : 0;
        if (found && rank)
            return {name, count};
        if (found && axis >= 0 && axis < count && (*found)[static_cast<size_t>(axis)] >= 0)
            return {name, (*found)[static_cast<size_t>(axis)]};
        return {name, std::nullopt};
    }

    void skipSpace() {
        while (m_expression.starts_with(' '))
            m_expression.remove_prefix(1);
    }

    bool takeWord(std::string_view word) {
        if (!m_expression.starts_with(word))
            return false;
        m_expression.remove_prefix(word.size());
        return true;
    }

    std::string takeName() {
        size_t end = 0;
        while (end < m_expression.size() && isNameCharacter(m_expression[end]))
            ++end;
        std::string out(m_expression.substr(0, end));
        m_expression.remove_prefix(end);
        return out;
    }

    // Statements: "$name", "$(sum)" are numbers of the call, "@name" an attribute as it is;
    // numbers and lists among the operands become constants.

    void state(const std::string& line) {
        std::string text = withNumbers(line);
        const size_t equals = text.find('=');
        for (const std::string& name : identifiers(text.substr(0, equals)))
            m_made.insert(name);
        const size_t operands = operandsOf(text, equals);
        std::string before;
        for (const std::string& name : identifiers(text.substr(equals)))
            m_read.insert(name);
        text = text.substr(0, operands) + withConstants(text.substr(operands), before);
        m_text += before + "  " + text + "\n";
    }

    std::string withNumbers(const std::string& line) {
        std::string out;
        for (size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '@') {
                size_t end = i + 1;
                while (end < line.size() && isNameCharacter(line[end]))
                    ++end;
                pass(line.substr(i + 1, end - i - 1));
            }
            if (line[i] != '$') {
                out += line[i];
                continue;
            }
            size_t end = i + 1;
            if (line[end] == '(') {
                int depth = 0;
                do
                    depth += line[end] == '(' ? 1 : line[end] == ')' ? -1 : 0;
                while (++end < line.size() && depth > 0);
                out += std::to_string(number(std::string_view(line).substr(i + 2, end - i - 3)));
            } else {
                while (end < line.size() && isNameCharacter(line[end]))
                    ++end;
                const std::string name = line.substr(i + 1, end - i - 1);
                const bool isItem = end < line.size() && line[end] == '[';
                out += isItem ? item(name, std::string_view(line).substr(end), end) : spelled(name);
            }
            i = end - 1;
        }
        return out;
    }

    void pass(const std::string& name) {
        if (std::find(m_passed.begin(), m_passed.end(), name) == m_passed.end())
            m_passed.push_back(name);
    }

    /// One number of a list, "[0]" behind its name; `end` moves behind that.
    std::string item(const std::string& name, std::string_view index, size_t& end) {
        size_t at = 0;
        const auto read = std::from_chars(index.data() + 1, index.data() + index.size(), at);
        end += static_cast<size_t>(read.ptr - index.data()) + 1;
        const CallAttribute value = attribute(name);
        const auto* reals = std::get_if<std::vector<double>>(&value);
        if (reals && at < reals->size() && std::isfinite((*reals)[at]))
            return spelled((*reals)[at]);
        const auto* whole = std::get_if<std::vector<int64_t>>(&value);
        if (whole && at < whole->size())
            return std::to_string((*whole)[at]);
        refuse(fmt::format("it has no number `{}[{}]`", name, at));
        return "0";
    }

    static std::string spelled(double number) {
        std::string out = fmt::format("{:.9g}", number);
        return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
    }

    std::string spelled(const std::string& name) {
        if (name == "channel_block")
            return std::to_string(m_call.channelBlock);
        const CallAttribute value = attribute(name);
        if (const auto* whole = std::get_if<int64_t>(&value))
            return std::to_string(*whole);
        if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real))
            return spelled(*real);
        if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
            return "[" + joined(*list, [](int64_t number) { return std::to_string(number); }) + "]";
        refuse(fmt::format("it has no number `{}`", name));
        return "0";
    }

    /// An operand that the call leaves out, or "x?" that no line that is taken makes, is left out.
    bool isLeftOut(const std::string& name, bool mayBe) const {
        const std::vector<std::string>& all = m_body.inputs;
        const bool isInput = std::find(all.begin(), all.end(), name) != all.end();
        return !m_made.contains(name) && (mayBe || (isInput && !isThere(name)));
    }

    std::string withConstants(const std::string& operands, std::string& before) {
        std::string out;
        for (size_t i = 0; i < operands.size();) {
            const char c = operands[i];
            const bool isDigit = std::isdigit(static_cast<unsigned char>(c)) != 0;
            if (isNameCharacter(c) && !isDigit) {
                std::string name;
                while (i < operands.size() && isNameCharacter(operands[i]))
                    name += operands[i++];
                const bool mayBe = i < operands.size() && operands[i] == '?';
                out += isLeftOut(name, mayBe) ? std::string() : name;
                i += mayBe ? 1 : 0;
                continue;
            }
            if (c != '[' && c != '-' && !isDigit) {
                out += operands[i++];
                continue;
            }
            const size_t end =
                c == '[' ? operands.find(']', i) + 1 : operands.find_first_of(",) ", i);
            const std::string literal = operands.substr(i, end - i);
            const std::string name = fmt::format("constant_{}", ++m_constants);
            const char* kind = c == '['                                           ? "value_ints"
                               : literal.find_first_of(".e") == std::string::npos ? "value_int"
                                                                                  : "value_float";
            before += fmt::format("  {} = Constant <{} = {}> ()\n", name, kind, literal);
            out += name;
            i = end;
        }
        return out;
    }

    const OperatorBody& m_body;
    const Call& m_call;
    std::vector<Level> m_levels;
    std::string_view m_expression; ///< what is left of the one that is read
    std::string m_text, m_refused;
    std::set<std::string> m_made, m_read;
    std::vector<std::string> m_passed;
    int m_constants = 0;
};

} // namespace

WrittenBody writeBody(const OperatorBody& body, const Call& call) {
    return Writer(body, call).write();
}

} // namespace fuselage::model_io
