// SPDX-License-Identifier: Apache-2.0
// What a tensor holds, for people: its first values.
#pragma once

#include "core/graph/tensor.h"

#include <QString>
namespace fuselage::studio {

/// The first elements in rows as numpy prints them, at most `most`.
QString valuesText(const Tensor& tensor, int64_t most);

} // namespace fuselage::studio
