// SPDX-License-Identifier: Apache-2.0
#include "app/pipeline/prove/guard.h"

#include "core/ops/op_table.h"
#include "core/support/number_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fuselage::app {

namespace {

constexpr size_t fewestLeft = 3;      ///< passing samples: less is an accident
constexpr size_t fewestLeftOfTwo = 8; ///< two claims part more by accident
constexpr size_t mostPaired = 60;

bool isTruth(const Claim& claim) {
    return claim.text == "true" || claim.text == "false";
}

/// "axis == -1", "min(p.value) >= 0", "not a.shape == b.shape"; or what it is where that fails.
std::string textOf(const Claim& claim, bool holds) {
    std::string name = claim.name;
    if (isAttributeFact(name)) {
        const size_t bracket = name.find('[');
        name = name.substr(bracket + 1, name.size() - bracket - 2);
    }
    if (isTruth(claim))
        return (claim.text == "true") == holds ? name : "not " + name;
    if (!claim.text.empty())
        return fmt::format("{} {} {}", name, holds ? "==" : "!=", claim.text);
    if (claim.least)
        return fmt::format("{} {} {:g}", name, holds ? ">=" : "<", *claim.least);
    if (claim.above)
        return fmt::format("{} {} {:g}", name, holds ? ">" : "<=", *claim.above);
    if (claim.most)
        return fmt::format("{} {} {:g}", name, holds ? "<=" : ">", *claim.most);
    return fmt::format("{} {} {:g}", name, holds ? "<" : ">=", *claim.below);
}

/// As it stands in the rule: "`Conv[pads == [0, 0]]`", else a `where`.
std::string demand(const Claim& claim, bool holds) {
    if (isAttributeFact(claim.name))
        return fmt::format("`{}[{}]`", claim.name.substr(0, claim.name.find('[')),
                           textOf(claim, holds));
    return fmt::format("`where {}`", textOf(claim, holds));
}

std::string demand(const std::vector<Claim>& claims) {
    if (claims.size() == 1)
        return demand(claims[0], true);
    auto subject = [](const Claim& claim) {
        return isAttributeFact(claim.name) ? claim.name.substr(0, claim.name.find('[')) : "";
    };
    if (subject(claims[0]) != subject(claims[1]))
        return demand(claims[0], true) + " and " + demand(claims[1], true);
    const std::string both =
        fmt::format("{}, {}", textOf(claims[0], true), textOf(claims[1], true));
    return isAttributeFact(claims[0].name) ? fmt::format("`{}[{}]`", subject(claims[0]), both)
                                           : fmt::format("`where {}`", both);
}

std::vector<Claim> sorted(std::vector<Claim> claims) {
    std::sort(claims.begin(), claims.end(),
              [](const Claim& a, const Claim& b) { return a.name < b.name; });
    return claims;
}

bool admitsAll(const std::vector<Claim>& claims, const Facts& facts) {
    return std::all_of(claims.begin(), claims.end(),
                       [&](const Claim& claim) { return claim.admits(facts); });
}

size_t countOf(const std::vector<Facts>& samples, const std::vector<Claim>& claims) {
    return static_cast<size_t>(
        std::count_if(samples.begin(), samples.end(),
                      [&](const Facts& facts) { return admitsAll(claims, facts); }));
}

/// Thresholds that cut off failing samples of one side.
void addThresholds(const std::vector<Facts>& passing, const std::vector<Facts>& failing,
                   const std::string& name, std::vector<Claim>& out) {
    std::set<double> good, bad;
    for (const Facts& facts : passing)
        if (auto found = facts.numbers.find(name); found != facts.numbers.end())
            good.insert(found->second);
    for (const Facts& facts : failing)
        if (auto found = facts.numbers.find(name); found != facts.numbers.end())
            bad.insert(found->second);
    if (good.empty() || bad.empty())
        return;
    // Numbers that passed, not those that failed: between them nothing was seen, but for zero.
    auto isWhole = [](double number) { return number == std::floor(number); };
    const bool areWhole = std::all_of(good.begin(), good.end(), isWhole);
    const double lastBad = *bad.rbegin(), firstBad = *bad.begin();
    if (const auto next = good.upper_bound(lastBad); next != good.end()) {
        const double least = lastBad < 0 && *next > 0 ? 0 : *next;
        out.push_back(lastBad == 0 && !areWhole ? Claim{name, "", {}, 0, {}, {}}
                                                : Claim{name, "", least, {}, {}, {}});
    }
    if (const auto from = good.lower_bound(firstBad); from != good.begin()) {
        const double most = firstBad > 0 && *std::prev(from) < 0 ? 0 : *std::prev(from);
        out.push_back(firstBad == 0 && !areWhole ? Claim{name, "", {}, {}, {}, 0}
                                                 : Claim{name, "", {}, {}, most, {}});
    }
    // A number next to zero may have passed by its size alone.
    if (lastBad < 0 && good.lower_bound(0) != good.end())
        out.push_back({name, "", 0, {}, {}, {}});
    if (firstBad > 0 && good.upper_bound(0) != good.begin())
        out.push_back({name, "", {}, {}, 0, {}});
    for (double number : good) // one number alone
        if (!bad.contains(number))
            out.push_back({name, fmt::format("{:g}", number), {}, {}, {}, {}});
}

/// Claims that hold for a passing sample and not for some failing one.
std::vector<Claim> candidates(const std::vector<Facts>& passing,
                              const std::vector<Facts>& failing) {
    std::vector<Claim> out;
    std::set<std::string> texts, numbers;
    for (const Facts& facts : failing) {
        for (const auto& [name, text] : facts.texts)
            texts.insert(name);
        for (const auto& [name, number] : facts.numbers)
            numbers.insert(name);
    }
    for (const std::string& name : texts) {
        std::set<std::string> good;
        for (const Facts& facts : passing)
            if (auto found = facts.texts.find(name); found != facts.texts.end())
                good.insert(found->second);
        good.erase(noAttribute);
        for (const std::string& text : good)
            out.push_back({name, text, {}, {}, {}, {}});
    }
    for (const std::string& name : numbers)
        addThresholds(passing, failing, name, out);
    std::erase_if(out, [&](const Claim& claim) {
        return countOf(failing, {claim}) == failing.size() ||
               countOf(passing, {claim}) < fewestLeft;
    });
    return out;
}

/// An attribute says more of what a rule means than shapes that happen to be alike; an order or a
/// kind of value more than one number.
int rankOf(const Claim& claim) {
    const bool areAlike = claim.name.find(" == ") != std::string::npos &&
                          claim.name.find(".shape") == std::string::npos &&
                          claim.name.find(".value") == std::string::npos;
    if (isAttributeFact(claim.name) || areAlike)
        return 0;
    const bool isContents =
        claim.name.find('.') != std::string::npos && claim.name.find(".rank") == std::string::npos;
    const bool isNumber = !claim.text.empty() && !isTruth(claim);
    return (isContents ? 1 : 3) + (isNumber ? 1 : 0);
}

/// What the author had in mind who forgot the attribute.
bool isDefault(const Claim& claim) {
    const size_t bracket = claim.name.find('[');
    const std::string name = claim.name.substr(bracket + 1, claim.name.size() - bracket - 2);
    const auto op = opFromName("", claim.name.substr(0, bracket));
    if (!op)
        return true; // one that the rules declare: not known here
    const std::vector<AttributeSchema>& all = attributesOf(*op);
    return std::any_of(all.begin(), all.end(), [&](const AttributeSchema& each) {
        return each.name == name && each.fallback && text(*each.fallback) == claim.text;
    });
}

struct Found {
    std::vector<Claim> claims;
    int rank = 0;
    size_t left = 0;

    /// One that leaves half as many samples is an accident of theirs, whatever it speaks of.
    bool isBetterThan(const Found& other) const {
        if (other.claims.empty() || left > 2 * other.left)
            return true;
        return 2 * left >= other.left &&
               (rank < other.rank || (rank == other.rank && left > other.left));
    }
};

} // namespace

bool Claim::admits(const Facts& facts) const {
    if (auto said = facts.texts.find(name); said != facts.texts.end())
        return said->second == text;
    const auto said = facts.numbers.find(name);
    if (said == facts.numbers.end())
        return true;
    if (!text.empty())
        return fmt::format("{:g}", said->second) == text;
    return (!least || said->second >= *least) && (!above || said->second > *above) &&
           (!most || said->second <= *most) && (!below || said->second < *below);
}

bool Guard::admits(const Facts& facts) const {
    return admitsAll(claims, facts);
}

bool Guard::isDoubtful() const {
    return std::any_of(claims.begin(), claims.end(), [](const Claim& claim) {
        if (isAttributeFact(claim.name))
            return !isDefault(claim);
        if (claim.name.ends_with(".to")) // one of a dozen element types
            return true;
        if (isTruth(claim))
            return claim.text == "false" && claim.name.find(".shape") != std::string::npos;
        const bool isSize =
            claim.name.ends_with(".rank") || claim.name.find_first_of(".[( ") == std::string::npos;
        const bool isValue = claim.name.find(".value") != std::string::npos;
        const double most = claim.most            ? *claim.most
                            : claim.below         ? *claim.below
                            : !claim.text.empty() ? numberIn(claim.text)
                                                  : INFINITY;
        const double end = claim.least ? *claim.least : claim.above ? *claim.above : most;
        const bool isWindow = claim.name.find(".kernel_shape") != std::string::npos ||
                              claim.name.find(".strides") != std::string::npos;
        if (isWindow && claim.least && *claim.least > 1) // large ones are seldom drawn
            return true;
        constexpr double manyDims = 4; // more are drawn so seldom that few samples are left
        if (claim.name.ends_with(".rank") && (end > manyDims || (claim.least && end == manyDims)))
            return true;
        return isSize ? most <= 1 : isValue && end != 0 && std::fabs(end) != 1;
    });
}

Guard separatingGuard(const std::vector<Facts>& passing, const std::vector<Facts>& failing,
                      const std::set<std::string>& refused) {
    if (passing.empty() || failing.empty())
        return {};
    std::vector<Claim> all = candidates(passing, failing);
    Found best;
    for (const Claim& claim : all)
        if (countOf(failing, {claim}) == 0)
            if (Found found{{claim}, rankOf(claim), countOf(passing, {claim})};
                found.isBetterThan(best) && !refused.contains(demand(found.claims)))
                best = std::move(found);
    if (best.claims.empty()) {
        std::vector<std::pair<size_t, Claim>> admitting; // of the failing ones
        for (Claim& claim : all)
            admitting.emplace_back(countOf(failing, {claim}), std::move(claim));
        std::stable_sort(admitting.begin(), admitting.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        admitting.resize(std::min(admitting.size(), mostPaired));
        all.clear();
        for (auto& [count, claim] : admitting)
            all.push_back(std::move(claim));
        for (size_t i = 0; i < all.size(); ++i)
            for (size_t j = i + 1; j < all.size(); ++j) {
                Found found{{all[i], all[j]}, rankOf(all[i]) + rankOf(all[j]), 0};
                if (all[i].name == all[j].name || countOf(failing, found.claims) > 0)
                    continue;
                found.left = countOf(passing, found.claims);
                if (found.left >= fewestLeftOfTwo && found.isBetterThan(best) &&
                    !refused.contains(demand(sorted(found.claims))))
                    best = std::move(found);
            }
    }
    if (best.claims.empty())
        return {};
    best.claims = sorted(std::move(best.claims));
    Guard out;
    out.suggested = demand(best.claims);
    std::vector<std::string> shared;
    for (const Claim& claim : best.claims) {
        shared.push_back(demand(claim, false));
        for (const Facts& facts : passing)
            if (auto value = facts.attributes.find(claim.name);
                value != facts.attributes.end() && facts.texts.at(claim.name) == claim.text)
                out.values.insert_or_assign(claim.name, value->second);
    }
    out.shared = fmt::format("{}", fmt::join(shared, " or "));
    out.agreeing = best.left;
    out.claims = std::move(best.claims);
    return out;
}

} // namespace fuselage::app
