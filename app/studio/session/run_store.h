// SPDX-License-Identifier: Apache-2.0
// Measured runs on disk, one file each, from the moment they end: a window that is killed loses
// none. Holds what `fuselage bench` wrote and when and how; no snapshots.
#pragma once

#include "app/studio/session/measurements.h"

namespace fuselage::studio {

class RunStore {
public:
    /// The folder is made when the first run is kept.
    explicit RunStore(const QString& folder) : m_folder(folder) {}

    /// The oldest beyond a few dozen go. False when it cannot be written.
    bool keep(const Run& run, const QByteArray& json) const;

    /// In the order in which they were measured, without numbers; what cannot be read is left out.
    std::vector<Run> all() const;

private:
    QString m_folder;
};

} // namespace fuselage::studio
