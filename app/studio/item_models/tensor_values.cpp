// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/tensor_values.h"

#include <QStringList>
#include <algorithm>

namespace fuselage::studio {

QString valuesText(const Tensor& tensor, int64_t most) {
    if (tensor.dtype() == DType::String || !tensor.defined())
        return {};
    const int64_t inRow = tensor.rank() == 0 ? 1 : std::max<int64_t>(1, tensor.extents().back());
    constexpr int64_t widest = 12;
    QStringList rows;
    for (int64_t at = 0; at < std::min(most, tensor.elementCount()); at += inRow) {
        QStringList row;
        for (int64_t i = at; i < std::min({at + inRow, at + widest, tensor.elementCount()}); ++i)
            row << (isFloat(tensor.dtype()) ? QString::number(tensor.at(i), 'g', 6)
                                            : QString::number(tensor.intAt(i)));
        if (inRow > widest)
            row << QStringLiteral("...");
        rows << row.join(QStringLiteral("  "));
    }
    if (tensor.elementCount() > most)
        rows << QStringLiteral("...");
    return rows.join('\n');
}

} // namespace fuselage::studio
