// SPDX-License-Identifier: Apache-2.0
#include "gpu/emit/device_text.h"

namespace fuselage::gpu {

namespace {

struct Row {
    std::string_view name, text;
};

constexpr Row rows[] = {
#include "device_text.inc"
};

} // namespace

std::string_view deviceText(std::string_view name) {
    for (const Row& row : rows)
        if (row.name == name)
            return row.text;
    return {};
}

} // namespace fuselage::gpu
