// SPDX-License-Identifier: Apache-2.0
#include "app/studio/item_models/tensor_facts.h"

#include <QStringList>
#include <algorithm>
#include <cmath>

namespace fuselage::studio {

namespace {

constexpr int64_t lookEvery = 65536; ///< elements between two looks at `stop`

/// Calls `each` with every element as a number; false when stopped.
bool forEach(const Tensor& tensor, const std::function<bool()>& stop,
             const std::function<void(double)>& each) {
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        if (i % lookEvery == 0 && stop())
            return false;
        each(tensor.at(i));
    }
    return true;
}

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

std::optional<TensorFacts> factsOf(const Tensor& tensor, const std::function<bool()>& stop) {
    TensorFacts out;
    out.count = tensor.elementCount();
    if (tensor.dtype() == DType::String || !tensor.defined())
        return out;
    double sum = 0, squares = 0;
    int64_t finite = 0;
    const bool first = forEach(tensor, stop, [&](double value) {
        out.zeros += value == 0;
        if (!std::isfinite(value)) {
            ++out.notFinite;
            return;
        }
        out.least = finite == 0 ? value : std::min(out.least, value);
        out.most = finite == 0 ? value : std::max(out.most, value);
        sum += value;
        squares += value * value;
        ++finite;
    });
    if (!first)
        return std::nullopt;
    if (finite > 0) {
        out.mean = sum / static_cast<double>(finite);
        out.deviation =
            std::sqrt(std::max(0.0, squares / static_cast<double>(finite) - out.mean * out.mean));
    }
    const double width = (out.most - out.least) / TensorFacts::bins;
    const bool second = forEach(tensor, stop, [&](double value) {
        if (!std::isfinite(value))
            return;
        const double at = width > 0 ? (value - out.least) / width : 0;
        ++out.histogram[std::min(static_cast<size_t>(at), TensorFacts::bins - 1)];
    });
    return second ? std::optional(out) : std::nullopt;
}

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
