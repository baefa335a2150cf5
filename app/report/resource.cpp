// SPDX-License-Identifier: Apache-2.0
#include "app/report/resource.h"

namespace fuselage::app {

namespace {

struct Row {
    std::string_view name;
    std::string_view text;
};

constexpr Row rows[] = {
#include "resource.inc"
};

} // namespace

std::string_view resource(std::string_view name) {
    for (const Row& row : rows)
        if (row.name == name)
            return row.text;
    return {};
}

} // namespace fuselage::app
