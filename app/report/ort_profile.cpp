// SPDX-License-Identifier: Apache-2.0
#include "app/report/ort_profile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace fuselage::app {

namespace {

constexpr std::string_view kernelEnd = "_kernel_time";
constexpr double microsecond = 1e-6;

std::string textOf(const nlohmann::json& event, const char* key) {
    const auto found = event.find(key);
    return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "conv1" of "conv1_kernel_time"; empty for fences and anything else.
std::string nodeTimedBy(const nlohmann::json& event) {
    if (!event.is_object() || textOf(event, "cat") != "Node")
        return {};
    std::string name = textOf(event, "name");
    if (!name.ends_with(kernelEnd))
        return {};
    name.resize(name.size() - kernelEnd.size());
    return name;
}

} // namespace

Result<std::map<std::string, double>> readOrtProfile(const std::string& text) {
    const nlohmann::json events = nlohmann::json::parse(text, nullptr, false);
    if (!events.is_array())
        return failure("profile.json", "this is no profile of ONNX Runtime: no list of events", {},
                       "give the .json file that a session with enable_profiling wrote");
    std::map<std::string, std::vector<double>> times;
    for (const nlohmann::json& event : events) {
        const std::string node = nodeTimedBy(event);
        if (node.empty())
            continue;
        const auto duration = event.find("dur");
        if (duration != event.end() && duration->is_number() && duration->get<double>() >= 0)
            times[node].push_back(duration->get<double>() * microsecond);
    }
    if (times.empty())
        return failure("profile.empty", "the profile has no event of a node", {},
                       "run the session at least once before it writes the profile");
    std::map<std::string, double> out;
    for (auto& [node, each] : times) {
        const auto middle = each.begin() + static_cast<ptrdiff_t>(each.size() / 2);
        std::nth_element(each.begin(), middle, each.end());
        out[node] = *middle;
    }
    return out;
}

} // namespace fuselage::app
