// SPDX-License-Identifier: Apache-2.0
// The efficiency table as TOML, read once; toml++'s exceptions end here.
#include "core/cost/tactic_efficiency.h"

#include "core/cost/embedded_profiles.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace fuselage {

namespace {

Failure badRow(const std::string& where, const std::string& prefix, const std::string& what) {
    return failure("profile.field", fmt::format("tactic `{}`: {}", prefix, what), where,
                   "see resources/tactics/efficiency.toml for rows that parse");
}

Result<TacticEfficiency> readRow(const toml::table& row, const std::string& where) {
    TacticEfficiency out;
    auto prefix = row["prefix"].value<std::string>();
    if (!prefix)
        return badRow(where, "", "field `prefix` is missing");
    out.prefix = *prefix;
    struct Share {
        const char* name;
        double TacticEfficiency::*member;
    };
    for (const Share& share :
         {Share{"memory", &TacticEfficiency::memory}, Share{"issue", &TacticEfficiency::issue},
          Share{"matrix", &TacticEfficiency::matrix}}) {
        auto value = row[share.name].value<double>();
        if (!value || !(*value > 0 && *value <= 1))
            return badRow(where, *prefix,
                          fmt::format("field `{}` is no share above 0 and up to 1", share.name));
        out.*share.member = *value;
    }
    auto source = row["source"].value<std::string>();
    if (!source || source->empty())
        return badRow(where, *prefix, "field `source` is missing");
    out.source = *source;
    return out;
}

Result<std::vector<TacticEfficiency>> readRows(const toml::table& table, const std::string& where) {
    std::vector<TacticEfficiency> out;
    const toml::array* rows = table["tactic"].as_array();
    for (size_t i = 0; rows && i < rows->size(); ++i) {
        const toml::table* row = (*rows)[i].as_table();
        if (!row)
            return badRow(where, "", "a row is no table");
        auto read = readRow(*row, where);
        if (!read)
            return failure(read.error());
        if (std::any_of(out.begin(), out.end(),
                        [&](const auto& other) { return other.prefix == read->prefix; }))
            return badRow(where, read->prefix, "appears twice");
        out.push_back(std::move(*read));
    }
    if (std::none_of(out.begin(), out.end(), [](const auto& row) { return row.prefix.empty(); }))
        return badRow(where, "", "no row for any tactic");
    return out;
}

} // namespace

Result<std::vector<TacticEfficiency>> parseTacticEfficiencies(std::string_view text,
                                                              const std::string& where) {
    try {
        return readRows(toml::parse(text), where);
    } catch (const toml::parse_error& error) {
        return failure(
            "profile.syntax",
            fmt::format("line {}: {}", error.source().begin.line, std::string(error.description())),
            where);
    }
}

const std::vector<TacticEfficiency>& tacticEfficiencies() {
    static const std::vector<TacticEfficiency> rows = [] {
        auto parsed = parseTacticEfficiencies(embeddedTacticEfficiencies(), "efficiency.toml");
        assert(parsed && "the built-in table of tactics parses");
        return std::move(*parsed);
    }();
    return rows;
}

const TacticEfficiency& tacticEfficiency(std::string_view tactic) {
    const TacticEfficiency* best = nullptr;
    for (const TacticEfficiency& row : tacticEfficiencies())
        if (tactic.starts_with(row.prefix) && (!best || row.prefix.size() > best->prefix.size()))
            best = &row;
    return *best;
}

double predictSeconds(const TimeEstimate& program, const TacticEfficiency& tactic,
                      uint32_t launches, double overlap) {
    const std::array terms{program.dram / tactic.memory, program.l2 / tactic.memory,
                           program.issue / tactic.issue, program.matrix / tactic.matrix};
    const double top = *std::max_element(terms.begin(), terms.end());
    double norm = 0; // scaled by the largest term, so that powers do not underflow
    for (double term : terms)
        if (top > 0)
            norm += std::pow(term / top, overlap);
    return launches * program.launch + top * std::pow(norm, 1 / overlap);
}

} // namespace fuselage
