// SPDX-License-Identifier: Apache-2.0
// Which panels are shown for which kind of work: one row each.
#pragma once

#include <QMainWindow>
#include <QStringList>
#include <vector>

namespace fuselage::studio {

struct Perspective {
    const char* id;
    const char* title;
    const char* key;
    QStringList panels; ///< ids; the first of each area comes to the front
};

const std::vector<Perspective>& perspectives();

/// Shows exactly these panels of the window.
void apply(const Perspective& perspective, QMainWindow& window);

} // namespace fuselage::studio
