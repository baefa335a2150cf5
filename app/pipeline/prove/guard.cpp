// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/guard.h"

#include <fmt/format.h>

#include <algorithm>

namespace fuselage::app {

namespace {

/// A test in the rule's text: "Conv[pads == [0, 0]]" for an attribute, else a `where`.
std::string demand(const std::string& name, const std::string& comparison,
                   const std::string& value) {
    if (size_t bracket = name.find('['); bracket != std::string::npos && name.back() == ']')
        return fmt::format("`{} {} {}]`", name.substr(0, name.size() - 1), comparison, value);
    return fmt::format("`where {} {} {}`", name, comparison, value);
}

std::vector<double> numbersOf(const std::vector<Facts>& samples, const std::string& name) {
    std::vector<double> out;
    for (const Facts& facts : samples)
        if (auto found = facts.numbers.find(name); found != facts.numbers.end())
            out.push_back(found->second);
    return out;
}

/// All samples say something about `name`, and a threshold parts them.
Guard byThreshold(const std::vector<Facts>& passing, const std::vector<Facts>& failing,
                  const std::string& name) {
    std::vector<double> good = numbersOf(passing, name), bad = numbersOf(failing, name);
    if (good.size() != passing.size() || bad.size() != failing.size())
        return {};
    auto [goodLow, goodHigh] = std::minmax_element(good.begin(), good.end());
    auto [badLow, badHigh] = std::minmax_element(bad.begin(), bad.end());
    Guard out;
    out.name = name;
    out.agreeing = good.size();
    if (*badHigh < *goodLow) {
        out.least = *goodLow;
        out.shared = fmt::format("{} < {:g}", name, *goodLow);
        out.suggested = demand(name, ">=", fmt::format("{:g}", *goodLow));
        return out;
    }
    if (*badLow > *goodHigh) {
        out.most = *goodHigh;
        out.shared = fmt::format("{} > {:g}", name, *goodHigh);
        out.suggested = demand(name, "<=", fmt::format("{:g}", *goodHigh));
        return out;
    }
    return {};
}

/// The text that most passing samples have and no failing one. A sample that says nothing about the
/// name took another alternative: the guard cannot hurt it, if it passes.
Guard byText(const std::vector<Facts>& passing, const std::vector<Facts>& failing,
             const std::string& name) {
    constexpr size_t fewest = 3; // that would pass: less is an accident
    std::map<std::string, size_t> having;
    size_t silent = 0;
    for (const Facts& facts : passing)
        if (auto found = facts.texts.find(name); found != facts.texts.end())
            ++having[found->second];
        else
            ++silent;
    for (const Facts& facts : failing) {
        auto found = facts.texts.find(name);
        if (found == facts.texts.end())
            return {};
        having.erase(found->second);
    }
    const auto best =
        std::max_element(having.begin(), having.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == having.end() || best->second < fewest)
        return {};
    const auto& [good, count] = *best;
    Guard out;
    out.name = name;
    out.text = good;
    out.agreeing = count + silent;
    const bool isTruth = good == "true" || good == "false";
    const std::string negated = isTruth ? "not " + name : demand(name, "!=", good);
    const std::string held = isTruth ? name : demand(name, "==", good);
    out.shared = good == "false" ? held : negated;
    out.suggested = good == "false" ? "`where " + negated + "`"
                    : isTruth       ? "`where " + held + "`"
                                    : held;
    return out;
}

} // namespace

bool Guard::admits(const Facts& facts) const {
    if (auto said = facts.texts.find(name); said != facts.texts.end())
        return said->second == text;
    if (auto said = facts.numbers.find(name); said != facts.numbers.end())
        return (!least || said->second >= *least) && (!most || said->second <= *most);
    return true;
}

Guard separatingGuard(const std::vector<Facts>& passing, const std::vector<Facts>& failing) {
    if (passing.empty() || failing.empty())
        return {};
    // An attribute says more of what a rule means than shapes that happen to be alike.
    for (bool attributes : {true, false}) {
        Guard best;
        for (const auto& [name, text] : failing[0].texts)
            if ((name.back() == ']') == attributes)
                if (Guard guard = byText(passing, failing, name); guard.agreeing > best.agreeing)
                    best = std::move(guard);
        if (!best.suggested.empty())
            return best;
    }
    // The smallest of a list, then dimensions and ranks.
    for (bool lists : {true, false})
        for (const auto& [name, number] : failing[0].numbers)
            if ((name.find("min(") != std::string::npos) == lists)
                if (Guard guard = byThreshold(passing, failing, name); !guard.suggested.empty())
                    return guard;
    return {};
}

} // namespace fuselage::app
