// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attention_core.h"

#include "core/ops/dense_product.h"
#include "core/ops/softmax.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

/// Copies x with two of its four dimensions exchanged.
ReferenceValue exchanged(const ReferenceValue& x, size_t a, size_t b) {
    Extents extents = x.extents, strides = rowMajorStrides(x.extents);
    std::swap(extents[a], extents[b]);
    std::swap(strides[a], strides[b]);
    ReferenceValue out = ReferenceValue::tensor(x.dtype, extents);
    for (StridedWalk walk(extents, {strides}); walk.valid(); walk.next())
        out.floats[static_cast<size_t>(walk.position())] =
            x.floats[static_cast<size_t>(walk.offset(0))];
    return out;
}

bool fourFloats(const ReferenceValue& x) {
    return x.extents.size() == 4 && isFloat(x.dtype);
}

/// One head of one image.
struct Head {
    const AttentionRequest& request;
    int64_t queries, keys, size, valueSize;
    double scale;
    std::vector<Extents> maskStrides; ///< over [batch, heads, queries, keys]

    void addMasks(std::vector<double>& scores, int64_t batch, int64_t head) const {
        for (size_t m = 0; m < request.masks.size(); ++m) {
            const Extents& s = maskStrides[m];
            for (int64_t i = 0; i < queries; ++i)
                for (int64_t j = 0; j < keys; ++j)
                    scores[static_cast<size_t>(i * keys + j)] +=
                        request.masks[m].floats[static_cast<size_t>(batch * s[0] + head * s[1] +
                                                                    i * s[2] + j * s[3])];
        }
        for (int64_t i = 0; request.causal && i < queries; ++i)
            for (int64_t j = std::max<int64_t>(0, i + request.pastKeys + 1); j < keys; ++j)
                scores[static_cast<size_t>(i * keys + j)] =
                    -std::numeric_limits<double>::infinity();
    }

    void cap(std::vector<double>& scores) const {
        for (double& score : scores)
            if (request.softcap > 0)
                score = request.softcap * std::tanh(score / request.softcap);
    }

    void softmax(std::vector<double>& scores) const {
        for (int64_t i = 0; i < queries; ++i) {
            double* row = scores.data() + i * keys;
            bool visible = std::any_of(row, row + keys, [](double score) {
                return score != -std::numeric_limits<double>::infinity();
            });
            if (visible)
                softmaxRow(row, 1, keys);
            else
                std::fill_n(row, keys, 0.0);
        }
    }

    /// Fills one [queries, valueSize] matrix of the result and one [queries, keys] of the inner.
    void run(int64_t batch, int64_t head, const double* q, const double* kTransposed,
             const double* v, double* y, double* inner) const {
        std::vector<double> scores(static_cast<size_t>(queries * keys));
        auto keep = [&](AttentionStage stage) {
            if (inner && request.stage == stage)
                std::copy(scores.begin(), scores.end(), inner);
        };
        multiply(Rows2d<const double>{q, size}, Rows2d<const double>{kTransposed, keys},
                 Rows2d<double>{scores.data(), keys}, queries, keys, size);
        for (double& score : scores)
            score *= scale;
        keep(AttentionStage::Scores);
        cap(scores); // before the mask, since a capped -inf would not mask
        keep(AttentionStage::Capped);
        addMasks(scores, batch, head);
        keep(AttentionStage::Masked);
        softmax(scores);
        keep(AttentionStage::Weights);
        multiply(Rows2d<const double>{scores.data(), keys}, Rows2d<const double>{v, valueSize},
                 Rows2d<double>{y, valueSize}, queries, valueSize, keys);
    }
};

} // namespace

Result<AttentionResult> attend(const Node& node, const AttentionRequest& request,
                               ThreadPool& threads) {
    const ReferenceValue &q = request.q, &k = request.k, &v = request.v;
    if (!fourFloats(q) || !fourFloats(k) || !fourFloats(v) || q.extents[0] != k.extents[0] ||
        k.extents[0] != v.extents[0] || k.extents[1] != v.extents[1] || k.extents[1] < 1 ||
        q.extents[1] % k.extents[1] != 0 || k.extents[2] != v.extents[2] ||
        q.extents[3] != k.extents[3])
        return badInput(node, fmt::format("Q {}, K {} and V {} do not fit together",
                                          text(q.extents), text(k.extents), text(v.extents)));
    const int64_t batch = q.extents[0], heads = q.extents[1], shared = heads / k.extents[1];
    Head head{request, q.extents[2], k.extents[2], q.extents[3], v.extents[3], request.scale, {}};
    if (head.scale == 0)
        head.scale = 1 / std::sqrt(static_cast<double>(head.size));
    const Extents space{batch, heads, head.queries, head.keys};
    auto y = allocateResult(node, q.dtype, {batch, heads, head.queries, head.valueSize});
    auto inner = allocateResult(node, q.dtype, space);
    if (!y || !inner)
        return failure(y ? inner.error() : y.error());
    for (const ReferenceValue& mask : request.masks) {
        auto joined = broadcastExtents(mask.extents, space);
        if (!joined || *joined != space || !isFloat(mask.dtype))
            return badInput(node, fmt::format("mask of shape {} does not broadcast to {}",
                                              text(mask.extents), text(space)));
        head.maskStrides.push_back(broadcastStrides(mask.extents, space));
    }
    const ReferenceValue transposed = exchanged(k, 2, 3);
    const bool keepInner = request.stage != AttentionStage::None;
    threads.forRange(static_cast<size_t>(batch * heads), 1, [&](size_t begin, size_t end) {
        for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
            int64_t source = i / shared;
            head.run(i / heads, i % heads, q.floats.data() + i * head.queries * head.size,
                     transposed.floats.data() + source * head.keys * head.size,
                     v.floats.data() + source * head.keys * head.valueSize,
                     y->floats.data() + i * head.queries * head.valueSize,
                     keepInner ? inner->floats.data() + i * head.queries * head.keys : nullptr);
        }
    });
    AttentionResult out{std::move(*y), std::nullopt};
    if (keepInner)
        out.inner = std::move(*inner);
    return out;
}

ReferenceValue splitHeads(const ReferenceValue& x, int64_t heads) {
    ReferenceValue view = x;
    view.extents = {x.extents[0], x.extents[1], heads, x.extents[2] / heads};
    return exchanged(view, 1, 2);
}

ReferenceValue joinHeads(const ReferenceValue& x) {
    ReferenceValue out = exchanged(x, 1, 2);
    out.extents = {x.extents[0], x.extents[2], x.extents[1] * x.extents[3]};
    return out;
}

Result<ReferenceValue> appendKeys(const Node& node, const ReferenceValue& a,
                                  const ReferenceValue& b) {
    if (!fourFloats(a) || !fourFloats(b) || a.extents[0] != b.extents[0] ||
        a.extents[1] != b.extents[1] || a.extents[3] != b.extents[3])
        return badInput(node, fmt::format("past of shape {} does not fit {}", text(a.extents),
                                          text(b.extents)));
    Extents extents = b.extents;
    extents[2] += a.extents[2];
    auto out = allocateResult(node, b.dtype, extents);
    if (!out)
        return out;
    const int64_t first = a.extents[2] * a.extents[3], second = b.extents[2] * b.extents[3];
    for (int64_t i = 0; i < extents[0] * extents[1]; ++i) {
        double* to = out->floats.data() + i * (first + second);
        std::copy_n(a.floats.data() + i * first, first, to);
        std::copy_n(b.floats.data() + i * second, second, to + first);
    }
    return out;
}

} // namespace fuselage
