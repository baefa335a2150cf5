// SPDX-License-Identifier: Apache-2.0
// Models that Studio brings: networks of the zoo as files of the person's cache folder.
#pragma once

#include <QString>

namespace fuselage::studio {

/// The file of a network of the zoo; it need not be there.
QString sampleFile(const QString& network);

/// Makes the file unless it is there; takes seconds for a large one. False: it cannot be written.
bool makeSample(const QString& network);

} // namespace fuselage::studio
