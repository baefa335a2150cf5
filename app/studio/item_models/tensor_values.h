// SPDX-License-Identifier: Apache-2.0
// What a tensor holds, for people: its first values; and the file that numpy reads.
#pragma once

#include "core/graph/tensor.h"

#include <QByteArray>
#include <QString>
namespace fuselage::studio {

/// The first elements in rows as numpy prints them, at most `most`.
QString valuesText(const Tensor& tensor, int64_t most);

/// A .npy file, version 1.0; empty for element types that numpy has no name for.
QByteArray npyOf(const Tensor& tensor);

} // namespace fuselage::studio
