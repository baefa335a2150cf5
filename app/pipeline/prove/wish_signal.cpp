// SPDX-License-Identifier: Apache-2.0
// Operands of what counts, cuts signals into frames and weighs their spectra; and of Einsum, whose
// equation names every dimension.
#include "app/pipeline/prove/wish_internal.h"

#include <cctype>

namespace fuselage::app {

namespace {

/// From, to, step: up or down, seldom of nothing.
Wish rangeWish(OperandContext& context, size_t operand) {
    constexpr int64_t starts[] = {0, 1, -2, 3}, limits[] = {5, 8, 4, 7}, steps[] = {1, 2, 3, 1};
    const uint32_t drawn = context.choices.pick(4);
    return wholeNumber(operand == 0 ? starts[drawn] : operand == 1 ? limits[drawn] : steps[drawn]);
}

Wish framesWish(OperandContext& context, size_t operand) {
    constexpr int64_t longest = 6; ///< of a frame
    const auto signal = context.extents(0), window = context.extents(2);
    switch (operand) {
    case 0:
        return ofExtents({1 + context.choices.pick(2), longest + context.choices.pick(9), 1});
    case 1:
        return wholeNumber(1 + context.choices.pick(4));
    case 2: {
        Wish wish = ofExtents({2 + context.choices.pick(longest - 1)});
        wish.presence =
            context.choices.pick(2) == 0 ? Wish::Presence::Needed : Wish::Presence::LeftOut;
        return wish;
    }
    default: {
        const int64_t own = 2 + context.choices.pick(longest - 1);
        Wish wish = wholeNumber(window && window->size() == 1 ? window->front() : own);
        wish.presence = window ? Wish::Presence::Free : Wish::Presence::Needed;
        return wish;
    }
    }
}

/// Bands, the length of the transform, samples a second, and where the bands begin and end in Hz.
Wish bandsWish(OperandContext& context, size_t operand) {
    switch (operand) {
    case 0:
        return wholeNumber(1 + context.choices.pick(4));
    case 1:
        return wholeNumber(8 + 2 * int64_t{context.choices.pick(5)});
    case 2:
        return wholeNumber(8000);
    default:
        return numbers({}, {operand == 3 ? 0.0 : 4000.0 - 500 * context.choices.pick(3)});
    }
}

} // namespace

std::optional<Wish> signalWish(OperandContext& context, size_t operand) {
    switch (context.node.op) {
    case Op::Range:
        return rangeWish(context, operand);
    case Op::STFT:
        return framesWish(context, operand);
    case Op::MelWeightMatrix:
        return bandsWish(context, operand);
    default:
        return std::nullopt;
    }
}

Wish einsumWish(OperandContext& context, size_t operand) {
    // One term an operand: letters, one a dimension.
    std::vector<std::string> terms(1);
    for (char letter : context.node.attributes.string("equation")) {
        if (letter == '-')
            break;
        if (letter == ',')
            terms.emplace_back();
        else if (std::isalpha(static_cast<unsigned char>(letter)) != 0)
            terms.back() += letter;
    }
    if (operand >= terms.size())
        return {};
    std::string known;
    Extents sizes;
    for (size_t other = 0; other < operand; ++other)
        if (const auto extents = context.extents(other);
            extents && extents->size() == terms[other].size()) {
            known += terms[other];
            sizes.insert(sizes.end(), extents->begin(), extents->end());
        }
    Extents out;
    for (char letter : terms[operand]) {
        size_t at = known.find(letter);
        if (at == std::string::npos) {
            at = known.size();
            known += letter;
            sizes.push_back(context.dimension());
        }
        out.push_back(sizes[at]);
    }
    return ofExtents(std::move(out));
}

} // namespace fuselage::app
