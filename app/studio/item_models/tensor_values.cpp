// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/tensor_values.h"

#include <QStringList>
#include <algorithm>

namespace fuselage::studio {

namespace {

const char* numpyName(DType dtype) {
    switch (dtype) {
    case DType::Float32:
        return "<f4";
    case DType::Float64:
        return "<f8";
    case DType::Float16:
        return "<f2";
    case DType::Int8:
        return "|i1";
    case DType::Int16:
        return "<i2";
    case DType::Int32:
        return "<i4";
    case DType::Int64:
        return "<i8";
    case DType::UInt8:
        return "|u1";
    case DType::UInt16:
        return "<u2";
    case DType::UInt32:
        return "<u4";
    case DType::UInt64:
        return "<u8";
    case DType::Bool:
        return "|b1";
    default:
        return nullptr;
    }
}

} // namespace

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

QByteArray npyOf(const Tensor& tensor) {
    const char* type = numpyName(tensor.dtype());
    if (!type || !tensor.defined())
        return {};
    QStringList extents;
    for (int64_t extent : tensor.extents())
        extents << QString::number(extent);
    QString shape = extents.join(QStringLiteral(", "));
    if (extents.size() == 1)
        shape += ',';
    QByteArray header = QStringLiteral("{'descr': '%1', 'fortran_order': False, 'shape': (%2), }")
                            .arg(QString::fromLatin1(type), shape)
                            .toLatin1();
    constexpr qsizetype before = 10, grid = 64; // bytes in front of the header; the data's grid
    header += QByteArray((grid - (before + header.size() + 1) % grid) % grid, ' ') + '\n';
    QByteArray out("\x93NUMPY\x01\x00", 8);
    out += static_cast<char>(header.size() & 0xff);
    out += static_cast<char>(header.size() >> 8);
    out += header;
    out.append(reinterpret_cast<const char*>(tensor.bytes()),
               static_cast<qsizetype>(tensor.byteCount()));
    return out;
}

} // namespace fuselage::studio
