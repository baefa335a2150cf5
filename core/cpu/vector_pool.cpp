// SPDX-License-Identifier: Apache-2.0
// Pools by the loops of vector_pool.h. Where channels are neighbours in memory, each result pixel
// is folded from the pixels under its window, all channels at once. Where pixels of a row are, rows
// are folded into one line first and neighbours within it after that.
#include "core/cpu/pool.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace fuselage::cpu {

namespace {

/// The part of the window that is inside the operand at one position along one dimension.
struct Taps {
    int64_t first = 0; ///< index in the operand
    int64_t count = 0;
    int64_t counted = 0; ///< for averages
};

constexpr int64_t mostElements = int64_t{1} << 26;

bool areNeighbours(const Extents& inStrides, const Extents& outStrides, size_t dim) {
    return inStrides[dim] == 1 && outStrides[dim] == 1;
}

/// Few channels in long rows are better taken by rows where both ways are open.
bool isByPixels(const Extents& inStrides, const Extents& outExtents, const Extents& outStrides) {
    return areNeighbours(inStrides, outStrides, 1) &&
           (!areNeighbours(inStrides, outStrides, inStrides.size() - 1) ||
            outExtents[1] >= outExtents.back());
}

/// The primitive turns so many channels at once into neighbours, few of them into as many.
constexpr int64_t channelsAtOnce = 16;

/// Whether loops by rows are the faster ones: each row is a call, and shorter ones are hardly more.
bool hasLongRows(const Extents& inExtents) {
    constexpr int64_t longRow = 64;
    const int64_t turned = (inExtents[1] + channelsAtOnce - 1) / channelsAtOnce * channelsAtOnce;
    return inExtents.back() * turned >= longRow * inExtents[1];
}

/// Elements from the first padding of a row to the last that a window meets.
int64_t lineLength(const SlidingWindow& window, int64_t width, int64_t results) {
    const int64_t before = window.padsBegin.back();
    const int64_t reach = (results - 1) * window.strides.back() +
                          (window.kernel.back() - 1) * window.dilations.back() + 1;
    return std::max(std::max<int64_t>(-before, 0) + reach, std::max<int64_t>(before, 0) + width);
}

/// The largest of nothing.
template <typename T> T least() {
    if constexpr (std::is_same_v<T, float>)
        return -std::numeric_limits<float>::infinity();
    else
        return std::numeric_limits<T>::min();
}

template <typename T> const PoolFolds<T>& foldsOf(const PoolLoops& loops) {
    if constexpr (std::is_same_v<T, float>)
        return loops.floats;
    else if constexpr (std::is_same_v<T, int8_t>)
        return loops.int8;
    else
        return loops.uint8;
}

/// Windows of nothing but padding can be of any size; no model has them.
bool isAbsurd(const SlidingWindow& window, const Extents& inExtents, const Extents& outExtents) {
    for (size_t d = 0; d < window.kernel.size(); ++d)
        if (window.kernel[d] > mostElements / std::max<int64_t>(outExtents[d + 2], 1))
            return true;
    return lineLength(window, inExtents.back(), outExtents.back()) > mostElements;
}

template <typename T> class VectorPool final : public PoolEngine {
public:
    VectorPool(PoolKind kind, const SlidingWindow& window, const Extents& inExtents,
               const Extents& inStrides, const Extents& outExtents, const Extents& outStrides,
               const PrepareContext& context);
    void run(const std::byte* source, std::byte* target, std::byte* scratch) override;

private:
    void setTaps(PoolKind kind, const SlidingWindow& window, const Extents& inExtents);
    void runPixels(const T* in, T* out, size_t begin, size_t end) const;
    void runRows(const T* in, T* out, T* line, size_t begin, size_t end) const;
    void foldPixel(T* out, const std::vector<const T*>& sources, int64_t counted) const;
    void foldRow(T* out, T* line, const std::vector<const T*>& sources, int64_t counted) const;
    int64_t collect(const T* in, const int64_t* index, std::vector<const T*>& sources) const;
    void addTaps(size_t d, int64_t at, std::vector<const T*>& sources) const;
    static Extents indexOf(size_t flat, const Extents& extents);
    void advance(Extents& index) const;

    size_t m_fold; ///< of the loops' tables
    bool m_divides;
    T m_nothing;     ///< of a window without any element
    bool m_byPixels; ///< all channels at once; else by rows
    Extents m_inStrides, m_outExtents, m_outStrides;
    Extents m_steps, m_dilations;          ///< of the window, per spatial dim
    std::vector<std::vector<Taps>> m_taps; ///< per spatial dim and position
    Extents m_outer;                       ///< what is counted through
    int64_t m_width = 0, m_padding = 0, m_skipped = 0, m_lastTaps = 0; ///< of the last dim
    size_t m_lineLength = 0;
    std::vector<float> m_divisors; ///< along the last dim
    const PoolLoops& m_loops;
    const PoolFolds<T>& m_folds;
    Threads& m_threads;
};

template <typename T>
VectorPool<T>::VectorPool(PoolKind kind, const SlidingWindow& window, const Extents& inExtents,
                          const Extents& inStrides, const Extents& outExtents,
                          const Extents& outStrides, const PrepareContext& context)
    : m_fold(kind == PoolKind::Max ? 0 : 1),
      m_divides(kind == PoolKind::Average || kind == PoolKind::AverageIncludingPad),
      m_nothing(kind == PoolKind::Max ? least<T>() : T{0}),
      m_byPixels(isByPixels(inStrides, outExtents, outStrides)), m_inStrides(inStrides),
      m_outExtents(outExtents), m_outStrides(outStrides), m_steps(window.strides),
      m_dilations(window.dilations), m_loops(context.table.pool),
      m_folds(foldsOf<T>(context.table.pool)), m_threads(context.threads) {
    setTaps(kind, window, inExtents);
    m_outer = outExtents;
    if (m_byPixels) {
        m_outer.erase(m_outer.begin() + 1);
        implementation = "pooled pixels";
    } else {
        m_outer.pop_back();
        implementation = "pooled rows";
        m_width = inExtents.back();
        rowLength = m_width;
        m_padding = std::max<int64_t>(window.padsBegin.back(), 0);
        m_lastTaps = window.kernel.back();
        m_skipped = m_padding - window.padsBegin.back();
        m_lineLength = static_cast<size_t>(lineLength(window, m_width, outExtents.back())) +
                       PoolFolds<T>::readPast;
        for (const Taps& taps : m_taps.back())
            m_divisors.push_back(static_cast<float>(taps.counted));
    }
    if (!std::is_same_v<T, float>)
        implementation += " of integers";
    implementation += std::string(" (") + context.table.name + ")";
}

template <typename T>
void VectorPool<T>::setTaps(PoolKind kind, const SlidingWindow& window, const Extents& inExtents) {
    const bool padded = kind == PoolKind::AverageIncludingPad;
    for (size_t d = 0; d < window.kernel.size(); ++d) {
        const int64_t extent = inExtents[d + 2];
        std::vector<Taps> positions;
        for (int64_t o = 0; o < m_outExtents[d + 2]; ++o) {
            Taps taps;
            for (int64_t t = window.kernel[d]; t-- > 0;) {
                const int64_t at =
                    o * window.strides[d] - window.padsBegin[d] + t * window.dilations[d];
                const bool inside = at >= 0 && at < extent;
                if (inside)
                    taps.first = at;
                taps.count += inside ? 1 : 0;
                taps.counted += inside || (padded && at < extent + window.padsEnd[d]) ? 1 : 0;
            }
            positions.push_back(taps);
        }
        m_taps.push_back(std::move(positions));
    }
}

template <typename T> void VectorPool<T>::advance(Extents& index) const {
    for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < m_outer[d])
            return;
        index[d] = 0;
    }
}

template <typename T> Extents VectorPool<T>::indexOf(size_t flat, const Extents& extents) {
    Extents index(extents.size());
    auto rest = static_cast<int64_t>(flat);
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
        index[d] = rest % extents[d];
    return index;
}

/// From the addresses for the dims before to those for dim `d` too.
template <typename T>
void VectorPool<T>::addTaps(size_t d, int64_t at, std::vector<const T*>& sources) const {
    const Taps& taps = m_taps[d][static_cast<size_t>(at)];
    const int64_t stride = m_inStrides[d + 2];
    const size_t have = taps.count == 0 ? 0 : sources.size();
    sources.resize(have);
    for (int64_t t = 1; t < taps.count; ++t)
        for (size_t i = 0; i < have; ++i)
            sources.push_back(sources[i] + (taps.first + t * m_dilations[d]) * stride);
    for (size_t i = 0; i < have; ++i)
        sources[i] += taps.first * stride;
}

/// Addresses of what the window covers in all spatial dims but the last, from `in` on; returns how
/// many of them an average counts. `index` is the window's position along these dims.
template <typename T>
int64_t VectorPool<T>::collect(const T* in, const int64_t* index,
                               std::vector<const T*>& sources) const {
    sources.assign(1, in);
    int64_t counted = 1;
    for (size_t d = 0; d + 1 < m_taps.size(); ++d) {
        addTaps(d, index[d], sources);
        counted *= m_taps[d][static_cast<size_t>(index[d])].counted;
    }
    return counted;
}

template <typename T>
void VectorPool<T>::foldPixel(T* out, const std::vector<const T*>& sources, int64_t counted) const {
    const auto channels = static_cast<size_t>(m_outExtents[1]);
    if (sources.empty())
        std::fill_n(out, channels, m_nothing);
    else
        m_folds.sources[m_fold](out, sources.data(), sources.size(), channels);
    if constexpr (std::is_same_v<T, float>)
        if (m_divides)
            m_loops.divideAll(out, static_cast<float>(counted), channels);
}

/// Positions are [image, spatial...].
template <typename T>
void VectorPool<T>::runPixels(const T* in, T* out, size_t begin, size_t end) const {
    std::vector<const T*> rows, sources;
    int64_t counted = 0;
    Extents index = indexOf(begin, m_outer);
    for (size_t i = begin; i < end; ++i) {
        const int64_t last = index.back();
        if (i == begin || last == 0)
            counted = collect(in + index[0] * m_inStrides[0], index.data() + 1, rows);
        sources = rows;
        addTaps(m_taps.size() - 1, last, sources);
        int64_t to = index[0] * m_outStrides[0];
        for (size_t d = 1; d < index.size(); ++d)
            to += index[d] * m_outStrides[d + 1];
        foldPixel(out + to, sources, counted * m_taps.back()[static_cast<size_t>(last)].counted);
        advance(index);
    }
}

template <typename T>
void VectorPool<T>::foldRow(T* out, T* line, const std::vector<const T*>& sources,
                            int64_t counted) const {
    const auto n = static_cast<size_t>(m_outExtents.back());
    T* middle = line + m_padding;
    if (sources.empty())
        std::fill_n(middle, m_width, m_nothing);
    else
        m_folds.sources[m_fold](middle, sources.data(), sources.size(),
                                static_cast<size_t>(m_width));
    m_folds.neighbours[m_fold](out, line + m_skipped, static_cast<size_t>(m_steps.back()),
                               static_cast<size_t>(m_lastTaps),
                               static_cast<size_t>(m_dilations.back()), n);
    if constexpr (std::is_same_v<T, float>)
        if (m_divides)
            m_loops.divideEach(out, m_divisors.data(), static_cast<float>(counted), n);
}

/// Positions are [image, channel, spatial... but the last].
template <typename T>
void VectorPool<T>::runRows(const T* in, T* out, T* line, size_t begin, size_t end) const {
    std::fill_n(line, m_lineLength, m_nothing);
    std::vector<const T*> sources;
    Extents index = indexOf(begin, m_outer);
    for (size_t i = begin; i < end; ++i) {
        int64_t to = 0;
        for (size_t d = 0; d < index.size(); ++d)
            to += index[d] * m_outStrides[d];
        const T* plane = in + index[0] * m_inStrides[0] + index[1] * m_inStrides[1];
        const int64_t counted = collect(plane, index.data() + 2, sources);
        foldRow(out + to, line, sources, counted);
        advance(index);
    }
}

template <typename T>
void VectorPool<T>::run(const std::byte* source, std::byte* target, std::byte*) {
    const auto* in = reinterpret_cast<const T*>(source);
    auto* out = reinterpret_cast<T*>(target);
    const auto count = static_cast<size_t>(
        elementCount(m_outExtents).value_or(0) == 0 ? 0 : elementCount(m_outer).value_or(0));
    const auto inner = static_cast<size_t>(m_byPixels ? m_outExtents[1] : m_width);
    const size_t grain = 4096 / (inner + 1) + 1;
    m_threads.forRange(count, grain, [&](size_t worker, size_t begin, size_t end) {
        if (m_byPixels)
            return runPixels(in, out, begin, end);
        std::byte* line = m_threads.scratch(worker).reserve(m_lineLength * sizeof(T));
        runRows(in, out, reinterpret_cast<T*>(line), begin, end);
    });
}

} // namespace

bool canPoolVectors(const Extents& inStrides, const Extents& outStrides) {
    return areNeighbours(inStrides, outStrides, 1) ||
           areNeighbours(inStrides, outStrides, inStrides.size() - 1);
}

std::unique_ptr<PoolEngine> makeVectorPool(PoolKind kind, const SlidingWindow& window,
                                           const Extents& inExtents, const Extents& inStrides,
                                           const Extents& outExtents, const Extents& outStrides,
                                           const PrepareContext& context) {
    if (isAbsurd(window, inExtents, outExtents))
        return nullptr;
    return std::make_unique<VectorPool<float>>(kind, window, inExtents, inStrides, outExtents,
                                               outStrides, context);
}

bool canPoolBytes(const SlidingWindow& window, const Extents& inExtents,
                  const Extents& outExtents) {
    if (isAbsurd(window, inExtents, outExtents))
        return false;
    for (size_t d = 0; d < window.kernel.size(); ++d)
        for (int64_t o = 0; o < outExtents[d + 2]; ++o) {
            const int64_t first = o * window.strides[d] - window.padsBegin[d];
            bool meets = false;
            for (int64_t t = 0; t < window.kernel[d] && !meets; ++t) {
                const int64_t at = first + t * window.dilations[d];
                meets = at >= 0 && at < inExtents[d + 2];
            }
            if (!meets)
                return false;
        }
    return true;
}

std::unique_ptr<PoolEngine> makeBytePool(DType type, const SlidingWindow& window,
                                         const Extents& inExtents, const Extents& inStrides,
                                         const Extents& outExtents, const Extents& outStrides,
                                         const PrepareContext& context) {
    if (type == DType::Int8)
        return std::make_unique<VectorPool<int8_t>>(PoolKind::Max, window, inExtents, inStrides,
                                                    outExtents, outStrides, context);
    return std::make_unique<VectorPool<uint8_t>>(PoolKind::Max, window, inExtents, inStrides,
                                                 outExtents, outStrides, context);
}

std::unique_ptr<PoolEngine> makePool(PoolKind kind, const SlidingWindow& window,
                                     const Extents& inExtents, const Extents& inStrides,
                                     const Extents& outExtents, const Extents& outStrides,
                                     const PrepareContext& context) {
    const bool canBeVectors = canPoolVectors(inStrides, outStrides);
    // Measured: with wide steps these loops take 0.2 to 0.8 of the primitive's time, else 1 to 1.6.
    const bool byPixels = isByPixels(inStrides, outExtents, outStrides);
    const bool fewChannels = byPixels && outExtents[1] < channelsAtOnce;
    const bool byVectors = canBeVectors && window.strides.back() > 1 &&
                           (byPixels ? !fewChannels : hasLongRows(inExtents));
    auto byOneDnn = [&](bool mayCopy) {
        return makePoolEngine(kind, window, inExtents, inStrides, outExtents, outStrides, mayCopy);
    };
    // One way to add, whatever the layout: oneDNN has several.
    if (context.strict())
        return canBeVectors ? makeVectorPool(kind, window, inExtents, inStrides, outExtents,
                                             outStrides, context)
                            : nullptr;
    // Few channels of pixels that lie apart are copied: a pixel by itself takes longer.
    std::unique_ptr<PoolEngine> engine = byVectors ? nullptr : byOneDnn(fewChannels);
    if (!engine && canBeVectors)
        engine =
            makeVectorPool(kind, window, inExtents, inStrides, outExtents, outStrides, context);
    return engine ? std::move(engine) : byOneDnn(true);
}

} // namespace fuselage::cpu
