// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/lawful.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace fuselage::bench {

namespace {

struct Node;
using Tree = std::shared_ptr<const Node>;

/// An operator, a name or a number.
struct Node {
    std::string op; ///< empty: a leaf
    std::vector<Tree> of;
    std::string name; ///< of a leaf that is a value
    double number = 0;

    bool is(const char* what) const { return op == what; }

    bool isNumber() const { return op.empty() && name.empty(); }
};

Tree make(std::string op, std::vector<Tree> of) {
    return std::make_shared<Node>(Node{std::move(op), std::move(of), {}, 0});
}

Tree number(double value) {
    return std::make_shared<Node>(Node{{}, {}, {}, value});
}

Tree value(std::string name) {
    return std::make_shared<Node>(Node{{}, {}, std::move(name), 0});
}

/// What may be done with the numbers of a rule.
enum class Kind : uint8_t { Floats, Doubles, Halves, Integers };

const char* typeOf(Kind kind) {
    constexpr const char* texts[] = {"float", "double", "float16|bfloat16", "int32|int64"};
    return texts[static_cast<size_t>(kind)];
}

using Law = std::function<std::vector<Tree>(const Tree&)>; ///< what a tree may become; often none

/// Laws of rings, of integers too.
const std::vector<Law>& ringLaws() {
    static const std::vector<Law> laws = {
        [](const Tree& t) -> std::vector<Tree> { // a + b = b + a
            if (!t->is("Add") && !t->is("Mul") && !t->is("Max") && !t->is("Min"))
                return {};
            return {make(t->op, {t->of[1], t->of[0]})};
        },
        [](const Tree& t) -> std::vector<Tree> { // (a + b) + c = a + (b + c)
            const bool may =
                (t->is("Add") || t->is("Max") || t->is("Min")) && t->of[0]->op == t->op;
            if (!may)
                return {};
            return {make(t->op, {t->of[0]->of[0], make(t->op, {t->of[0]->of[1], t->of[1]})})};
        },
        [](const Tree& t) -> std::vector<Tree> { // (a + b) - c
            if (!t->is("Sub") || !t->of[0]->is("Add"))
                return {};
            const Tree &a = t->of[0]->of[0], &b = t->of[0]->of[1], &c = t->of[1];
            return {make("Add", {make("Sub", {a, c}), b}), make("Add", {a, make("Sub", {b, c})})};
        },
        [](const Tree& t) -> std::vector<Tree> { // (a - b) + c
            if (!t->is("Add") || !t->of[0]->is("Sub"))
                return {};
            const Tree &a = t->of[0]->of[0], &b = t->of[0]->of[1], &c = t->of[1];
            return {make("Sub", {make("Add", {a, c}), b}), make("Add", {a, make("Sub", {c, b})})};
        },
        [](const Tree& t) -> std::vector<Tree> { // a - (b - c)
            if (!t->is("Sub") || !t->of[1]->is("Sub"))
                return {};
            const Tree &a = t->of[0], &b = t->of[1]->of[0], &c = t->of[1]->of[1];
            return {make("Add", {make("Sub", {a, b}), c}), make("Sub", {make("Add", {a, c}), b})};
        },
        [](const Tree& t) -> std::vector<Tree> { // (a + b) * 2
            if (!t->is("Mul") || !t->of[1]->isNumber() ||
                (!t->of[0]->is("Add") && !t->of[0]->is("Sub")))
                return {};
            const Tree &a = t->of[0]->of[0], &b = t->of[0]->of[1], &c = t->of[1];
            return {make(t->of[0]->op, {make("Mul", {a, c}), make("Mul", {b, c})})};
        },
        [](const Tree& t) -> std::vector<Tree> { // (a * 2) * 3
            if (!t->is("Mul") || !t->of[1]->isNumber() || !t->of[0]->is("Mul") ||
                !t->of[0]->of[1]->isNumber())
                return {};
            return {
                make("Mul", {t->of[0]->of[0], number(t->of[0]->of[1]->number * t->of[1]->number)})};
        },
        [](const Tree& t) -> std::vector<Tree> { // -(a - b), -(-a)
            if (!t->is("Neg"))
                return {};
            if (t->of[0]->is("Neg"))
                return {t->of[0]->of[0]};
            if (t->of[0]->is("Sub"))
                return {make("Sub", {t->of[0]->of[1], t->of[0]->of[0]})};
            if (t->of[0]->is("Add"))
                return {make("Sub", {make("Neg", {t->of[0]->of[0]}), t->of[0]->of[1]})};
            return {};
        },
        [](const Tree& t) -> std::vector<Tree> { // a - b = a + -b
            if (!t->is("Sub") || t->of[1]->isNumber())
                return {};
            return {make("Add", {t->of[0], make("Neg", {t->of[1]})})};
        },
    };
    return laws;
}

/// Of floats alone: integers cut quotients, and their sums may leave the type.
const std::vector<Law>& floatLaws() {
    static const std::vector<Law> laws = {
        [](const Tree& t) -> std::vector<Tree> { // a / 4
            if (!t->is("Div") || !t->of[1]->isNumber())
                return {};
            return {make("Mul", {t->of[0], number(1 / t->of[1]->number)})};
        },
        [](const Tree& t) -> std::vector<Tree> { // min by max
            if (!t->is("Min") || t->of[0]->isNumber() || t->of[1]->isNumber())
                return {};
            return {make("Neg", {make("Max", {make("Neg", {t->of[0]}), make("Neg", {t->of[1]})})})};
        },
        [](const Tree& t) -> std::vector<Tree> { // relu by max
            if (!t->is("Relu"))
                return {};
            return {make("Max", {t->of[0], number(0)})};
        },
        [](const Tree& t) -> std::vector<Tree> { // |-a|, |a - b|
            if (!t->is("Abs"))
                return {};
            if (t->of[0]->is("Neg"))
                return {make("Abs", {t->of[0]->of[0]})};
            if (t->of[0]->is("Sub"))
                return {make("Abs", {make("Sub", {t->of[0]->of[1], t->of[0]->of[0]})})};
            return {};
        },
        [](const Tree& t) -> std::vector<Tree> { // max(a + 3, b + 3)
            if ((!t->is("Max") && !t->is("Min")) || !t->of[0]->is("Add") || !t->of[1]->is("Add"))
                return {};
            const Tree &a = t->of[0]->of[1], &b = t->of[1]->of[1];
            if (!a->isNumber() || !b->isNumber() || a->number != b->number)
                return {};
            return {make("Add", {make(t->op, {t->of[0]->of[0], t->of[1]->of[0]}), a})};
        },
        [](const Tree& t) -> std::vector<Tree> { // relu(a * 2), max(a, b) * 2
            const bool isScaled = t->is("Mul") && t->of[1]->isNumber() && t->of[1]->number > 0;
            if (!isScaled ||
                (!t->of[0]->is("Relu") && !t->of[0]->is("Max") && !t->of[0]->is("Min")))
                return {};
            std::vector<Tree> scaled;
            for (const Tree& each : t->of[0]->of)
                scaled.push_back(each->isNumber() ? number(each->number * t->of[1]->number)
                                                  : make("Mul", {each, t->of[1]}));
            return {make(t->of[0]->op, std::move(scaled))};
        },
    };
    return laws;
}

class Maker {
public:
    explicit Maker(uint64_t seed) : m_random(seed) {
        m_kind = static_cast<Kind>(pick(8) < 5 ? 0 : 1 + pick(3));
    }

    std::string rule(const std::string& name) {
        const Tree left = expression(2 + pick(2));
        Tree right = left;
        for (uint64_t steps = 1 + pick(4); steps > 0; --steps)
            right = changed(right);
        if (left->op.empty() || text(left, true) == text(right, true))
            return {}; // nothing to rewrite
        return fmt::format("rule {} once {{ match {{ y = {}; }} rewrite {{ y = {}; }} }}", name,
                           text(left, true), text(right, false));
    }

private:
    uint64_t pick(uint64_t count) { return m_random() % count; }

    Tree leaf() {
        static constexpr const char* names[] = {"x", "z", "v", "x"};
        return value(names[pick(4)]);
    }

    Tree literal() {
        static constexpr double whole[] = {2, 3, 5, 7}, parts[] = {0.5, 3, 1.5, 0.25};
        return number(m_kind == Kind::Integers ? whole[pick(4)] : parts[pick(4)]);
    }

    /// Of that depth at least on one side.
    Tree expression(uint64_t depth) {
        if (depth == 0)
            return leaf();
        const bool isFloat = m_kind != Kind::Integers;
        const Tree a = expression(depth - 1);
        const Tree b = expression(pick(depth));
        switch (pick(isFloat ? 11 : 6)) {
        case 0:
            return make("Add", {a, b});
        case 1:
            return make("Sub", {a, b});
        case 2:
            return make("Add", {a, literal()});
        case 3:
            return make("Mul", {a, literal()});
        case 4:
            return make("Neg", {a});
        case 5:
            return make("Sub", {make("Add", {a, literal()}), b});
        case 6:
            return make("Max", {a, b});
        case 7:
            return make("Min", {a, b});
        case 8:
            return make("Relu", {a});
        case 9:
            return make("Abs", {make("Sub", {a, b})});
        default:
            return make("Div", {a, number(pick(2) == 0 ? 4 : 0.5)});
        }
    }

    /// One law somewhere.
    Tree changed(const Tree& tree) {
        std::vector<Tree> out;
        collect(tree, [&](const Tree& made) { out.push_back(made); });
        return out.empty() ? tree : out[pick(out.size())];
    }

    void collect(const Tree& tree, const std::function<void(const Tree&)>& found) {
        for (const Law& law : ringLaws())
            for (const Tree& made : law(tree))
                found(made);
        if (m_kind != Kind::Integers)
            for (const Law& law : floatLaws())
                for (const Tree& made : law(tree))
                    found(made);
        for (size_t i = 0; i < tree->of.size(); ++i)
            collect(tree->of[i], [&](const Tree& made) {
                std::vector<Tree> of = tree->of;
                of[i] = made;
                found(make(tree->op, std::move(of)));
            });
    }

    std::string text(const Tree& tree, bool matched) {
        if (tree->isNumber())
            return matched || m_kind == Kind::Integers
                       ? fmt::format("{:.17g}", tree->number)
                       : fmt::format("{:.17g}", tree->number) +
                             (tree->number == std::floor(tree->number) ? ".0" : "");
        if (tree->op.empty())
            return matched ? fmt::format("{}: {}", tree->name, typeOf(m_kind)) : tree->name;
        std::string out = tree->op + "(";
        for (size_t i = 0; i < tree->of.size(); ++i)
            out += (i > 0 ? ", " : "") + text(tree->of[i], matched);
        return out + ")";
    }

    std::mt19937_64 m_random;
    Kind m_kind = Kind::Floats;
};

} // namespace

std::string lawfulRule(const std::string& name, uint64_t seed) {
    for (uint64_t next = seed * 1000;; ++next)
        if (std::string out = Maker(next).rule(name); !out.empty())
            return out;
}

} // namespace fuselage::bench
