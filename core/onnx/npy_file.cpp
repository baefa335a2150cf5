// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/npy_file.h"

#include "core/onnx/mapped_file_internal.h"
#include "core/support/checked.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string_view>

namespace fuselage::model_io {

namespace {

struct NumpyName {
    DType type;
    std::string_view name;
};

constexpr NumpyName numpyNames[] = {
    {DType::Float32, "<f4"},   {DType::Float64, "<f8"},     {DType::Float16, "<f2"},
    {DType::Int8, "|i1"},      {DType::Int16, "<i2"},       {DType::Int32, "<i4"},
    {DType::Int64, "<i8"},     {DType::UInt8, "|u1"},       {DType::UInt16, "<u2"},
    {DType::UInt32, "<u4"},    {DType::UInt64, "<u8"},      {DType::Bool, "|b1"},
    {DType::Complex64, "<c8"}, {DType::Complex128, "<c16"},
};

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t versionBytes = 2;

struct NpyHeader {
    std::string type;
    bool columnsFirst = false;
    Extents extents;
};

/// The header is one dictionary as Python writes it:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
public:
    explicit HeaderReader(std::string_view text) : m_text(text) {}

    std::optional<NpyHeader> read() {
        NpyHeader out;
        bool hasType = false, hasOrder = false, hasShape = false;
        if (!take('{'))
            return std::nullopt;
        while (!take('}')) {
            const auto key = quoted();
            if (!key || !take(':'))
                return std::nullopt;
            bool isRead = false;
            if (*key == "descr") {
                const auto type = quoted();
                isRead = hasType = type.has_value();
                out.type = type.value_or("");
            } else if (*key == "fortran_order") {
                isRead = hasOrder = flag(out.columnsFirst);
            } else if (*key == "shape") {
                isRead = hasShape = shape(out.extents);
            }
            if (!isRead)
                return std::nullopt;
            (void)take(',');
        }
        return hasType && hasOrder && hasShape ? std::optional(std::move(out)) : std::nullopt;
    }

private:
    void skipBlanks() {
        while (!m_text.empty() && std::isspace(static_cast<unsigned char>(m_text.front())) != 0)
            m_text.remove_prefix(1);
    }

    bool take(char wanted) {
        skipBlanks();
        const bool is = !m_text.empty() && m_text.front() == wanted;
        m_text.remove_prefix(is ? 1 : 0);
        return is;
    }

    std::optional<std::string> quoted() {
        skipBlanks();
        const char quote = m_text.empty() ? ' ' : m_text.front();
        const size_t end = m_text.find(quote, 1);
        if ((quote != '\'' && quote != '"') || end == std::string_view::npos)
            return std::nullopt;
        std::string out(m_text.substr(1, end - 1));
        m_text.remove_prefix(end + 1);
        return out;
    }

    bool flag(bool& to) {
        skipBlanks();
        for (const auto& [word, value] : {std::pair(std::string_view("True"), true),
                                          std::pair(std::string_view("False"), false)})
            if (m_text.starts_with(word)) {
                m_text.remove_prefix(word.size());
                to = value;
                return true;
            }
        return false;
    }

    bool shape(Extents& to) {
        if (!take('('))
            return false;
        while (!take(')')) {
            skipBlanks();
            int64_t extent = 0;
            const auto [end, error] =
                std::from_chars(m_text.data(), m_text.data() + m_text.size(), extent);
            if (error != std::errc() || extent < 0)
                return false;
            to.push_back(extent);
            m_text.remove_prefix(static_cast<size_t>(end - m_text.data()));
            if (!take(',') && (m_text.empty() || m_text.front() != ')'))
                return false;
        }
        return true;
    }

    std::string_view m_text;
};

Failure badNpy(std::string message, const std::string& path,
               std::string fix = "numpy.save(path, array) writes one") {
    return failure("load.npy", std::move(message), path, std::move(fix));
}

DType typeOfNumpy(std::string_view name) {
    for (const NumpyName& row : numpyNames)
        if (row.name == name)
            return row.type;
    return DType::Undefined;
}

/// Null: NumPy has none.
const NumpyName* nameOfNumpy(DType type) {
    const auto* row = std::find_if(std::begin(numpyNames), std::end(numpyNames),
                                   [=](const NumpyName& each) { return each.type == type; });
    return row == std::end(numpyNames) ? nullptr : row;
}

Failure noSuchType(const std::string& name, const std::string& path) {
    if (name.starts_with('>'))
        return badNpy(fmt::format("its numbers have the highest byte first (`{}`)", name), path,
                      fmt::format("save array.astype('<{}')", name.substr(1)));
    return badNpy(fmt::format("its elements are `{}`, which no tensor has", name), path,
                  "save an array of numbers, e.g. array.astype(numpy.float32)");
}

/// In row-major order what lies with the first dimension innermost.
void copyColumns(const std::byte* from, Tensor& to) {
    const Extents& extents = to.extents();
    const size_t size = sizeOf(to.dtype());
    Extents steps;
    int64_t step = 1;
    for (int64_t extent : extents) {
        steps.push_back(step);
        step *= extent;
    }
    Extents index(extents.size(), 0);
    int64_t source = 0;
    for (int64_t at = 0; at < to.elementCount(); ++at) {
        std::memcpy(to.bytes() + static_cast<size_t>(at) * size,
                    from + static_cast<size_t>(source) * size, size);
        for (size_t d = extents.size(); d-- > 0;) {
            source += steps[d];
            if (++index[d] < extents[d])
                break;
            source -= steps[d] * extents[d];
            index[d] = 0;
        }
    }
}

} // namespace

Result<Tensor> loadNpy(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file)
        return badNpy("this file cannot be read", path, "check the path");
    const std::string_view all(reinterpret_cast<const char*>(file->data()), file->size());
    if (!all.starts_with(magic) || all.size() < magic.size() + versionBytes)
        return badNpy("this is no file of NumPy's", path);
    const auto version = static_cast<unsigned char>(all[magic.size()]);
    const size_t lengthBytes = version == 1 ? 2 : 4;
    if (version < 1 || version > 3)
        return badNpy(fmt::format("version {} of NumPy's format is not known", version), path);
    const size_t start = magic.size() + versionBytes + lengthBytes;
    size_t length = 0;
    for (size_t i = 0; i < lengthBytes && start <= all.size(); ++i)
        length |= static_cast<size_t>(static_cast<unsigned char>(all[start - lengthBytes + i]))
                  << (8 * i);
    if (start > all.size() || length > all.size() - start)
        return badNpy("the file is truncated", path, "copy it again");
    const auto header = HeaderReader(all.substr(start, length)).read();
    if (!header)
        return badNpy("its header is not understood", path,
                      "save an array of plain numbers; structured types are not read");
    const DType type = typeOfNumpy(header->type);
    if (type == DType::Undefined)
        return noSuchType(header->type, path);
    const auto count = elementCount(header->extents);
    const size_t given = all.size() - start - length;
    if (!count || static_cast<uint64_t>(*count) > given / sizeOf(type))
        return badNpy(fmt::format("{} elements of {} do not lie in its {} bytes",
                                  text(header->extents), nameOf(type), given),
                      path, "the file is truncated: copy it again");
    const auto* data = reinterpret_cast<const std::byte*>(all.data()) + start + length;
    Tensor out(type, header->extents);
    if (header->columnsFirst && out.elementCount() > 0)
        copyColumns(data, out);
    else
        std::memcpy(out.bytes(), data, out.byteCount());
    return out;
}

bool isNumpyType(DType type) {
    return nameOfNumpy(type) != nullptr;
}

std::optional<std::string> npyOf(const Tensor& tensor) {
    const NumpyName* row = nameOfNumpy(tensor.dtype());
    if (!row || !tensor.defined())
        return std::nullopt;
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", row->name,
                    fmt::join(tensor.extents(), ", "), tensor.rank() == 1 ? "," : "");
    constexpr size_t before = 10, grid = 64; // bytes in front of the header; the data's grid
    header += std::string((grid - (before + header.size() + 1) % grid) % grid, ' ') + '\n';
    std::string out(magic);
    out += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    out += header;
    return out.append(reinterpret_cast<const char*>(tensor.bytes()), tensor.byteCount());
}

} // namespace fuselage::model_io
