// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/conv_spec.h"

#include "core/graph/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace fuselage::gpu {

namespace {

/// Every offset fits 32 bits.
bool fitsInts(const KernelRequest& request) {
    constexpr int64_t limit = std::numeric_limits<int32_t>::max() / 2;
    for (const auto* layouts : {&request.inputs, &request.outputs})
        for (const OperandLayout& layout : *layouts) {
            __int128 reach = 0;
            for (size_t d = 0; d < layout.extents.size(); ++d)
                reach += static_cast<__int128>(std::abs(layout.strides[d])) * layout.extents[d];
            if (reach > limit)
                return false;
        }
    return true;
}

ConvAxis axisOf(const SlidingWindow& window, size_t d, int64_t in, int64_t out) {
    return {in, out, window.kernel[d], window.strides[d], window.dilations[d], window.padsBegin[d]};
}

KernelOperand ownOperand(const KernelRequest& request, uint32_t number) {
    const OperandLayout& layout = request.inputs[number];
    return {fmt::format("in{}", number), layout.dtype, {0, layout.strides}, layout.alignment};
}

} // namespace

std::variant<ConvSpec, Reason> convSpec(const KernelRequest& request) {
    if (auto reason = refuseTypes(request))
        return *reason;
    const auto& code = std::get<Contraction>(request.program->code);
    if (code.kind != Contraction::Kind::Conv)
        return refusal("support", "no forward convolution");
    if (code.prologueA || code.prologueB)
        return refusal("support", "an operand is computed before it is used");
    const size_t dims = code.space.size();
    if (dims < 3 || dims > 4)
        return refusal("support", fmt::format("{} spatial dims", dims - 2));
    const OperandLayout &x = request.inputs[code.a.operand], &w = request.inputs[code.b.operand];
    if (!isFloat(x.dtype) || !isFloat(w.dtype) || !isFloat(code.accumulate))
        return refusal("dtype", "convolutions of integers are not supported");
    if (!fitsInts(request))
        return refusal("support", "an operand has more than 2^30 elements");
    ConvSpec out;
    out.request = &request;
    out.code = &code;
    out.x = ownOperand(request, code.a.operand);
    out.w = ownOperand(request, code.b.operand);
    for (const Access& read : code.epilogue.reads)
        out.reads.push_back(readOperand(request, read, dims));
    for (const Access& write : code.epilogue.writes)
        out.writes.push_back(writtenOperand(request, write, dims));
    out.flat = dims == 3;
    if (!out.flat)
        out.rows = axisOf(code.window, 0, x.extents[2], code.space[2]);
    out.columns = axisOf(code.window, dims - 3, x.extents[dims - 1], code.space[dims - 1]);
    out.images = code.space[0];
    out.channels = x.extents[1];
    out.results = code.space[1];
    out.channelsPerGroup = w.extents[1];
    return out;
}

int64_t ConvSpec::stride(const KernelOperand& operand, size_t dim) const {
    if (flat && dim == 2)
        return 0;
    return operand.access.strides[flat && dim == 3 ? 2 : dim];
}

std::string ConvSpec::offset(const KernelOperand& operand, const std::string& n,
                             const std::string& c, const std::string& y,
                             const std::string& x) const {
    std::string out = operand.pointer;
    if (operand.access.offset != 0)
        out += fmt::format(" + {}", operand.access.offset);
    const std::string* index[] = {&n, &c, &y, &x};
    for (size_t d = 0; d < 4; ++d)
        if (const int64_t step = stride(operand, d); step != 0 && *index[d] != "0")
            out += step == 1 ? fmt::format(" + ({})", *index[d])
                             : fmt::format(" + ({}) * {}", *index[d], step);
    return out;
}

namespace {

/// Whether `count` elements along `dim` are accesses of up to 16 bytes.
bool movesTogether(const ConvSpec& spec, const KernelOperand& operand, size_t dim, int64_t count) {
    const auto size = static_cast<int64_t>(sizeOf(operand.dtype));
    const int64_t bytes = std::min<int64_t>(16, count * size);
    bool out = spec.stride(operand, dim) == 1 && count * size >= 2 && (bytes & (bytes - 1)) == 0 &&
               count * size % bytes == 0 && operand.alignment % bytes == 0 &&
               operand.access.offset * size % bytes == 0;
    for (size_t other = 0; other < 4; ++other)
        out = out && (other == dim || spec.stride(operand, other) * size % bytes == 0);
    return out;
}

} // namespace

bool ConvSpec::vectors(const KernelOperand& operand, int64_t width) const {
    return movesTogether(*this, operand, 1, width);
}

bool ConvSpec::rowVectors(const KernelOperand& operand, int64_t count) const {
    return movesTogether(*this, operand, 3, count);
}

bool ConvSpec::perChannel(const KernelOperand& read) const {
    return stride(read, 0) == 0 && stride(read, 2) == 0 && stride(read, 3) == 0;
}

bool ConvSpec::epiloguePerChannel() const {
    return std::all_of(reads.begin(), reads.end(),
                       [&](const KernelOperand& read) { return perChannel(read); });
}

int64_t ConvSpec::units() const {
    constexpr int64_t assumed = 132;
    const DeviceProfile* profile = request->profile;
    return profile && profile->units > 0 ? static_cast<int64_t>(profile->units) : assumed;
}

int64_t ConvSpec::sharedBytesOf(int64_t blocks) const {
    constexpr int64_t everywhere = 48 << 10; // what every device gives a block
    constexpr int64_t reserved = 1024;       // of each block, by the driver
    const auto all =
        static_cast<int64_t>(request->profile ? request->profile->sharedBytesPerUnit : 0);
    return std::max(all / blocks - reserved, everywhere);
}

bool ConvSpec::takesTensorCores() const {
    const uint32_t needed = x.dtype == DType::BFloat16 ? 80 : 75;
    return isNarrowFloat(x.dtype) && w.dtype == x.dtype && !request->strict &&
           request->allowed >= NumericClass::Reassociated &&
           (request->capability == 0 || request->capability >= needed);
}

TapeFunction ConvSpec::epilogue(const std::string& name) const {
    TapeStyle style{request->strict, storesNarrow(*request, writes), {}, {}};
    for (const KernelOperand& write : writes)
        style.stored.push_back(write.dtype);
    return printTape(name, code->epilogue.tape, style);
}

} // namespace fuselage::gpu
