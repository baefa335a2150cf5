// SPDX-License-Identifier: Apache-2.0
// Device profiles as TOML: strings, and figures as { value, source }. The only file that sees
// toml++, whose exceptions end here.
#include "core/cost/embedded_profiles.h"
#include "core/cost/profile_internal.h"
#include "core/support/text.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fuselage {

namespace {

struct Figure {
    const char* name;
    double DeviceProfile::*member;
    bool optional = false; ///< a file may leave it at its start value
};

constexpr std::array figures{
    Figure{"units", &DeviceProfile::units},
    Figure{"lanes_per_unit", &DeviceProfile::lanesPerUnit},
    Figure{"clock", &DeviceProfile::clock},
    Figure{"dram_bandwidth", &DeviceProfile::dramBandwidth},
    Figure{"l2_bandwidth", &DeviceProfile::l2Bandwidth},
    Figure{"l2_bytes", &DeviceProfile::l2Bytes},
    Figure{"fp32_flops", &DeviceProfile::fp32Flops},
    Figure{"fp16_matrix_flops", &DeviceProfile::fp16MatrixFlops},
    Figure{"tf32_matrix_flops", &DeviceProfile::tf32MatrixFlops},
    Figure{"matrix_efficiency", &DeviceProfile::matrixEfficiency, true},
    Figure{"filter_gain", &DeviceProfile::filterGain, true},
    Figure{"integer_gain", &DeviceProfile::integerGain, true},
    Figure{"launch_seconds", &DeviceProfile::launchSeconds},
    Figure{"product_seconds", &DeviceProfile::productSeconds, true},
    Figure{"shared_bytes_per_unit", &DeviceProfile::sharedBytesPerUnit},
    Figure{"registers_per_unit", &DeviceProfile::registersPerUnit},
    Figure{"threads_per_unit", &DeviceProfile::threadsPerUnit},
    Figure{"link_bandwidth", &DeviceProfile::linkBandwidth, true},
    Figure{"link_seconds", &DeviceProfile::linkSeconds, true},
    Figure{"issue_efficiency", &DeviceProfile::issueEfficiency, true},
    Figure{"reduce_issue", &DeviceProfile::reduceIssue, true},
    Figure{"row_issue", &DeviceProfile::rowIssue, true},
    Figure{"window_issue", &DeviceProfile::windowIssue, true},
    Figure{"score_issue", &DeviceProfile::scoreIssue, true},
    Figure{"run_issue", &DeviceProfile::runIssue, true},
    Figure{"turn_issue", &DeviceProfile::turnIssue, true},
    Figure{"routine_issue", &DeviceProfile::routineIssue, true},
    Figure{"lane_product_issue", &DeviceProfile::laneProductIssue, true},
    Figure{"epilogue_share", &DeviceProfile::epilogueShare, true},
    Figure{"convolution_share", &DeviceProfile::convolutionShare, true},
    Figure{"few_channels", &DeviceProfile::fewChannels, true},
    Figure{"vector_lanes", &DeviceProfile::vectorLanes, true},
    Figure{"core_bytes", &DeviceProfile::coreBytes, true},
    Figure{"wait_bandwidth", &DeviceProfile::waitBandwidth, true},
    Figure{"fork_seconds", &DeviceProfile::forkSeconds, true},
    Figure{"overlap", &DeviceProfile::overlap},
    Figure{"residency", &DeviceProfile::residency},
};

struct Label {
    const char* name;
    std::string DeviceProfile::*member;
};

constexpr std::array labels{Label{"name", &DeviceProfile::name},
                            Label{"title", &DeviceProfile::title},
                            Label{"arch", &DeviceProfile::arch}};

Failure badField(const std::string& where, std::string_view field, const std::string& found,
                 const std::string& fix) {
    return failure("profile.field", fmt::format("field `{}` {}", field, found), where, fix);
}

Result<void> readValue(const toml::table& table, const std::string& name, const std::string& where,
                       double& value, std::string& from) {
    const std::string form =
        fmt::format("write `{} = {{ value = 1.0, source = \"sheet\" }}`", name);
    const toml::table* entry = table[name].as_table();
    if (!entry)
        return badField(where, name, table.contains(name) ? "is no table" : "is missing", form);
    auto number = (*entry)["value"].value<double>();
    if (!number || !std::isfinite(*number) || *number <= 0)
        return badField(where, name, "has no positive `value`", form);
    auto source = (*entry)["source"].value<std::string>();
    if (!source || source->empty())
        return badField(where, name, "has no `source`", form);
    value = *number;
    from = *source;
    return {};
}

Result<void> readFigure(const toml::table& table, const Figure& figure, const std::string& where,
                        DeviceProfile& out) {
    if (!table.contains(figure.name) && figure.optional) {
        out.sources[figure.name] = "start value";
        return {};
    }
    return readValue(table, figure.name, where, out.*figure.member, out.sources[figure.name]);
}

/// "tape_erf": lane instructions of one operation of tapes.
std::string tapeFigure(TapeOp op) {
    return fmt::format("tape_{}", nameOf(op));
}

Result<void> readTapeFigures(const toml::table& table, const std::string& where,
                             DeviceProfile& out) {
    for (size_t op = 0; op < tapeOpCount; ++op) {
        const std::string name = tapeFigure(static_cast<TapeOp>(op));
        if (!table.contains(name))
            continue;
        if (auto read = readValue(table, name, where, out.tapeIssue[op], out.sources[name]); !read)
            return read;
    }
    return {};
}

Result<DeviceKind> readKind(const toml::table& table, const std::string& where) {
    const std::string name = table["kind"].value<std::string>().value_or("");
    for (DeviceKind kind : {DeviceKind::Gpu, DeviceKind::Cpu})
        if (name == nameOf(kind))
            return kind;
    return badField(where, "kind",
                    name.empty() ? "is missing or no text" : fmt::format("is `{}`", name),
                    "write `gpu` or `cpu`");
}

Result<DeviceProfile> readProfile(const toml::table& table, const std::string& where) {
    DeviceProfile out;
    for (const Label& label : labels) {
        auto value = table[label.name].value<std::string>();
        if (!value || value->empty())
            return badField(where, label.name, "is missing or no text",
                            fmt::format("write `{} = \"...\"`", label.name));
        out.*label.member = *value;
    }
    if (table.contains("measured")) {
        auto day = table["measured"].value<std::string>();
        if (!day || day->empty())
            return badField(where, "measured", "is no text", "write `measured = \"2026-01-31\"`");
        out.measured = *day;
    }
    auto kind = readKind(table, where);
    if (!kind)
        return failure(kind.error());
    out.kind = *kind;
    for (const Figure& figure : figures)
        if (auto read = readFigure(table, figure, where, out); !read)
            return failure(read.error());
    if (auto read = readTapeFigures(table, where, out); !read)
        return failure(read.error());
    for (const auto& [key, value] : table) {
        const std::string_view name = key.str();
        const bool known = name == "measured" || name == "kind" ||
                           std::any_of(labels.begin(), labels.end(),
                                       [&](const Label& label) { return name == label.name; }) ||
                           out.sources.contains(std::string(name));
        if (!known)
            return badField(where, name, "is not known", "remove it");
    }
    return out;
}

Result<DeviceProfile> readFile(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return failure("profile.open", "cannot read the device profile", path,
                       "name a built-in profile or an existing file");
    std::ostringstream text;
    text << file.rdbuf();
    auto out = parseProfile(text.str(), path);
    if (out)
        out->origin = out->measured.empty() ? path : path + ", measured " + out->measured;
    return out;
}

} // namespace

Result<DeviceProfile> parseProfile(std::string_view text, const std::string& where) {
    try {
        return readProfile(toml::parse(text), where);
    } catch (const toml::parse_error& error) {
        return failure(
            "profile.syntax",
            fmt::format("line {}: {}", error.source().begin.line, std::string(error.description())),
            where, "see resources/devices for profiles that parse");
    }
}

const char* nameOf(DeviceKind kind) {
    return kind == DeviceKind::Gpu ? "gpu" : "cpu";
}

std::string text(const DeviceProfile& profile) {
    auto quoted = [](std::string text) {
        for (char& c : text)
            if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
                c = ' ';
        return '"' + text + '"';
    };
    std::string out =
        "# SPDX-License-Identifier: Apache-2.0\n"
        "# A device profile: bytes, seconds, hertz, FLOP/s; each figure with where it "
        "comes from.\n";
    for (const Label& label : labels)
        out += fmt::format("{} = {}\n", label.name, quoted(profile.*label.member));
    out += fmt::format("kind = {}\n", quoted(nameOf(profile.kind)));
    if (!profile.measured.empty())
        out += fmt::format("measured = {}\n", quoted(profile.measured));
    out += "\n";
    auto write = [&](const std::string& name, double value) {
        auto source = profile.sources.find(name);
        out += fmt::format("{} = {{ value = {}, source = {} }}\n", name, value,
                           quoted(source == profile.sources.end() ? "not said" : source->second));
    };
    for (const Figure& figure : figures)
        if (profile.*figure.member > 0) // zero is a start value, and no figure
            write(figure.name, profile.*figure.member);
    for (size_t op = 0; op < tapeOpCount; ++op)
        if (profile.tapeIssue[op] > 0)
            write(tapeFigure(static_cast<TapeOp>(op)), profile.tapeIssue[op]);
    return out;
}

std::vector<std::string> deviceProfileNames() {
    std::vector<std::string> out{"cpu"};
    for (const EmbeddedProfile& profile : embeddedProfiles())
        out.emplace_back(profile.name);
    return out;
}

Result<DeviceProfile> deviceProfile(const std::string& nameOrPath) {
    if (nameOrPath == "cpu")
        return thisMachine();
    for (const EmbeddedProfile& profile : embeddedProfiles())
        if (profile.name == nameOrPath) {
            auto read = parseProfile(profile.text, nameOrPath);
            if (read)
                read->origin = "built-in";
            return read;
        }
    if (nameOrPath.find('/') != std::string::npos || nameOrPath.ends_with(".toml"))
        return readFile(nameOrPath);
    return failure("profile.unknown", fmt::format("no device profile `{}`", nameOrPath), "",
                   "one of: " + joined(deviceProfileNames()) + "; or a .toml file");
}

} // namespace fuselage
