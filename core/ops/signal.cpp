// SPDX-License-Identifier: Apache-2.0
#include "core/ops/signal.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;
using Complex = std::complex<double>;
constexpr double pi = std::numbers::pi;

/// Discrete Fourier transform of any length, by splitting off the smallest prime factor.
std::vector<Complex> transformed(const std::vector<Complex>& x, double sign) {
    const size_t n = x.size();
    if (n <= 1)
        return x;
    size_t factor = 2;
    while (n % factor != 0)
        factor = factor * factor > n ? n : factor + 1;
    const size_t length = n / factor;
    std::vector<Complex> parts; // transforms of every factor-th element, one after the other
    for (size_t k = 0; k < factor; ++k) {
        std::vector<Complex> part(length);
        for (size_t i = 0; i < length; ++i)
            part[i] = x[i * factor + k];
        part = transformed(part, sign);
        parts.insert(parts.end(), part.begin(), part.end());
    }
    std::vector<Complex> out(n);
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < factor; ++k)
            out[i] += parts[k * length + i % length] *
                      std::polar(1.0, sign * 2 * pi * static_cast<double>(i * k % n) /
                                          static_cast<double>(n));
    return out;
}

/// A prime length costs its square.
constexpr int64_t maxTransform = int64_t(1) << 22;

std::optional<double> scalarAt(ReferenceInputs inputs, size_t index) {
    const ReferenceValue* value = inputAt(inputs, index);
    if (!value || value->count() != 1 || value->dtype == DType::String)
        return std::nullopt;
    return value->at(0);
}

// --- DFT ----------------------------------------------------------------------------------

/// Opset 20 moved the axis to an input, whose default counts from the end.
int64_t transformAxis(const Node& node, const std::optional<int64_t>& fromInput) {
    return fromInput.value_or(node.attributes.integer("axis", 1));
}

/// Back from the first half of a spectrum: real numbers.
bool isBackToReal(const Node& node) {
    return node.attributes.integer("onesided") != 0 && node.attributes.integer("inverse") != 0;
}

void inferDft(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const auto fromInput = context.has(2) ? scalarOf(context, 2) : std::nullopt;
    if (!x || (context.has(2) && !fromInput))
        return setTensor(context, 0, dtypeOf(context, 0),
                         x ? std::optional(Shape(x->size())) : std::nullopt);
    const auto axis = checkedAxis(context, transformAxis(context.node(), fromInput), x->size());
    if (!axis)
        return;
    Shape shape = *x;
    const bool toReal = isBackToReal(context.node());
    shape.back() = toReal ? 1 : 2;
    if (toReal)
        shape[*axis] = Dim(2) * (shape[*axis] + Dim(-1));
    if (context.has(1)) {
        const auto length = partialContents(context, 1);
        shape[*axis] = length && !length->empty() ? length->front() : Dim();
    }
    if (!toReal && context.node().attributes.integer("onesided") != 0)
        shape[*axis] = Dim::divide(shape[*axis], 2) + Dim(1);
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

} // namespace

Result<FourierShape> fourierShape(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue* axisInput = inputAt(inputs, 2);
    const auto fromInput =
        axisInput && axisInput->count() == 1 ? std::optional(axisInput->intAt(0)) : std::nullopt;
    const size_t rank = x.extents.size();
    const auto axis = normalizedAxis(transformAxis(node, fromInput), rank);
    if (!axis || *axis + 1 >= rank || !isFloat(x.dtype) ||
        (x.extents.back() != 1 && x.extents.back() != 2))
        return badInput(node, fmt::format("{} holds no numbers to transform", text(x.extents)));
    FourierShape out;
    out.axis = *axis;
    out.available = x.extents[*axis];
    out.parts = x.extents.back();
    out.inverse = node.attributes.integer("inverse") != 0;
    out.toReal = isBackToReal(node);
    out.length =
        inputAt(inputs, 1)
            ? static_cast<int64_t>(std::clamp(scalarAt(inputs, 1).value_or(-1), -1.0, 1e15))
        : out.toReal ? 2 * (out.available - 1)
                     : out.available;
    if (out.length < 1 || out.length > maxTransform)
        return badInput(node, fmt::format("a transform of length {} is out of range", out.length));
    const bool isHalf = node.attributes.integer("onesided") != 0;
    out.bins = isHalf && !out.toReal ? out.length / 2 + 1 : out.length;
    out.given = std::min(out.toReal ? out.length / 2 + 1 : out.length, out.available);
    out.outer = countOf(x.extents, 0, *axis);
    out.inner = countOf(x.extents, *axis + 1, rank - 1);
    return out;
}

namespace {

Results runDft(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const auto shape = fourierShape(node, inputs);
    if (!shape)
        return failure(shape.error());
    const int64_t partsOut = shape->toReal ? 1 : 2;
    Extents extents = x.extents;
    extents[shape->axis] = shape->bins;
    extents.back() = partsOut;
    auto out = allocateResult(node, x.dtype, std::move(extents));
    if (!out)
        return single(std::move(out));
    const int64_t inner = shape->inner, length = shape->length;
    for (int64_t row = 0; row < shape->outer * inner; ++row) {
        std::vector<Complex> signal(static_cast<size_t>(length));
        for (int64_t i = 0; i < shape->given; ++i) {
            const int64_t at =
                ((row / inner * shape->available + i) * inner + row % inner) * shape->parts;
            signal[static_cast<size_t>(i)] = {
                x.floats[static_cast<size_t>(at)],
                shape->parts == 2 ? x.floats[static_cast<size_t>(at) + 1] : 0.0};
        }
        for (int64_t i = 1; shape->toReal && 2 * i < length; ++i)
            signal[static_cast<size_t>(length - i)] = std::conj(signal[static_cast<size_t>(i)]);
        signal = transformed(signal, shape->inverse ? 1 : -1);
        for (int64_t i = 0; i < shape->bins; ++i) {
            const auto at = static_cast<size_t>(
                ((row / inner * shape->bins + i) * inner + row % inner) * partsOut);
            const Complex value = signal[static_cast<size_t>(i)] /
                                  (shape->inverse ? static_cast<double>(length) : 1.0);
            out->floats[at] = value.real();
            if (!shape->toReal)
                out->floats[at + 1] = value.imag();
        }
    }
    return single(std::move(out));
}

// --- STFT ---------------------------------------------------------------------------------

void inferStft(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const Shape* window = shapeOf(context, 2);
    const auto step = scalarOf(context, 1);
    const auto given = context.has(3) ? partialContents(context, 3) : std::nullopt;
    Dim length = given && !given->empty() ? given->front() : Dim();
    if (!context.has(3) && window && window->size() == 1)
        length = window->front();
    Shape shape{x && !x->empty() ? x->front() : Dim(), Dim(), Dim(), 2};
    if (x && x->size() >= 2 && step && *step > 0)
        shape[1] = Dim::divide((*x)[1] - length, *step) + Dim(1);
    shape[2] = context.node().attributes.integer("onesided", 1) != 0
                   ? Dim::divide(length, 2) + Dim(1)
                   : length;
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

} // namespace

Result<FrameShape> frameShape(const Node& node, ReferenceInputs inputs) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue* window = inputAt(inputs, 2);
    const bool shaped = (x.extents.size() == 2 || x.extents.size() == 3) && isFloat(x.dtype);
    const int64_t parts = x.extents.size() == 3 ? x.extents[2] : 1;
    const double step = scalarAt(inputs, 1).value_or(0);
    const auto points = window ? elementCount(window->extents).value_or(0) : 0;
    const double asked = scalarAt(inputs, 3).value_or(static_cast<double>(points));
    if (!shaped || (parts != 1 && parts != 2) || !(step >= 1 && step < 1e15) || !(asked >= 1) ||
        asked > static_cast<double>(x.extents[1]) || asked > static_cast<double>(maxTransform) ||
        (window && (points != static_cast<int64_t>(asked) || !isFloat(window->dtype))))
        return badInput(node, "signal, step, window and frame length do not go together");
    FrameShape out;
    out.rows = x.extents[0];
    out.samples = x.extents[1];
    out.parts = parts;
    out.step = static_cast<int64_t>(step);
    out.length = static_cast<int64_t>(asked);
    out.frames = (out.samples - out.length) / out.step + 1;
    out.bins = node.attributes.integer("onesided", 1) != 0 ? out.length / 2 + 1 : out.length;
    out.hasWindow = window != nullptr;
    return out;
}

namespace {

Results runStft(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const auto shape = frameShape(node, inputs);
    if (!shape)
        return failure(shape.error());
    auto out = allocateResult(node, x.dtype, {shape->rows, shape->frames, shape->bins, 2});
    if (!out)
        return single(std::move(out));
    const ReferenceValue* window = inputAt(inputs, 2);
    std::vector<Complex> signal(static_cast<size_t>(shape->length));
    for (int64_t row = 0; row < shape->rows * shape->frames; ++row) {
        const int64_t begin =
            row / shape->frames * shape->samples + row % shape->frames * shape->step;
        for (int64_t i = 0; i < shape->length; ++i) {
            const auto at = static_cast<size_t>((begin + i) * shape->parts);
            const double share = window ? window->floats[static_cast<size_t>(i)] : 1;
            signal[static_cast<size_t>(i)] = {x.floats[at] * share,
                                              shape->parts == 2 ? x.floats[at + 1] * share : 0.0};
        }
        const std::vector<Complex> spectrum = transformed(signal, -1);
        for (int64_t i = 0; i < shape->bins; ++i) {
            const auto at = static_cast<size_t>((row * shape->bins + i) * 2);
            out->floats[at] = spectrum[static_cast<size_t>(i)].real();
            out->floats[at + 1] = spectrum[static_cast<size_t>(i)].imag();
        }
    }
    return single(std::move(out));
}

// --- windows ------------------------------------------------------------------------------

DType outputDtype(const Node& node) {
    return dtypeFromOnnx(node.attributes.integer("output_datatype", 1)).value_or(DType::Undefined);
}

void inferWindow(InferContext& context) {
    const auto size = partialContents(context, 0);
    setTensor(context, 0, outputDtype(context.node()),
              Shape{size && !size->empty() ? size->front() : Dim()});
}

Results runWindow(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const double asked = scalarAt(inputs, 0).value_or(-1);
    if (!(asked >= 0 && asked <= static_cast<double>(maxReferenceElements)))
        return badInput(node, "the size is out of range");
    auto out = allocateResult(node, outputDtype(node), {static_cast<int64_t>(asked)});
    if (!out)
        return single(std::move(out));
    // Weights of the constant, the first and the second harmonic.
    double weights[3] = {0.5, 0.5, 0};
    if (node.op == Op::HammingWindow) {
        weights[0] = 25.0 / 46;
        weights[1] = 1 - weights[0];
    } else if (node.op == Op::BlackmanWindow) {
        weights[0] = 0.42;
        weights[2] = 0.08;
    }
    const double period = node.attributes.integer("periodic", 1) != 0 ? asked : asked - 1;
    for (int64_t i = 0; i < out->count(); ++i) {
        const double phase = period > 0 ? 2 * pi * static_cast<double>(i) / period : pi;
        const double value =
            weights[0] - weights[1] * std::cos(phase) + weights[2] * std::cos(2 * phase);
        if (isFloat(out->dtype))
            out->floats[static_cast<size_t>(i)] = value;
        else if (out->dtype != DType::String)
            out->ints[static_cast<size_t>(i)] = static_cast<int64_t>(value);
    }
    return single(std::move(out));
}

// --- MelWeightMatrix ----------------------------------------------------------------------

void inferMel(InferContext& context) {
    const auto bands = partialContents(context, 0);
    const auto length = partialContents(context, 1);
    Shape shape(2);
    if (length && !length->empty())
        shape[0] = Dim::divide(length->front(), 2) + Dim(1);
    if (bands && !bands->empty())
        shape[1] = bands->front();
    setTensor(context, 0, outputDtype(context.node()), std::move(shape));
}

Results runMel(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    double numbers[5];
    for (size_t i = 0; i < 5; ++i)
        numbers[i] = scalarAt(inputs, i).value_or(-1);
    const double bandCount = numbers[0], length = numbers[1], rate = numbers[2], low = numbers[3],
                 high = numbers[4];
    if (!(bandCount >= 0 && bandCount < 1e6 && length >= 0 && length < 1e9 && rate > 0 &&
          low >= 0 && high >= low && high < 1e15))
        return badInput(node, "the parameters are out of range");
    const auto bands = static_cast<int64_t>(bandCount);
    const int64_t bins = static_cast<int64_t>(length) / 2 + 1;
    auto out = allocateResult(node, outputDtype(node), {bins, bands});
    if (!out)
        return single(std::move(out));
    if (!isFloat(out->dtype))
        return badInput(node, "the result must be floats");
    const auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double step = (toMel(high) - toMel(low)) / static_cast<double>(bands + 2);
    const auto edge = [&](int64_t i) {
        const double mel = static_cast<double>(i) * step + toMel(low);
        const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
        return std::min(std::floor((length + 1) * hertz / rate), static_cast<double>(bins) * 4);
    };
    for (int64_t band = 0; band < bands; ++band) {
        const auto left = static_cast<int64_t>(edge(band));
        const auto centre = static_cast<int64_t>(edge(band + 1));
        const auto right = static_cast<int64_t>(edge(band + 2));
        const auto set = [&](int64_t bin, double value) {
            if (bin >= 0 && bin < bins)
                out->floats[static_cast<size_t>(bin * bands + band)] = value;
        };
        if (centre == left)
            set(centre, 1);
        for (int64_t bin = left; centre > left && bin <= centre; ++bin)
            set(bin, static_cast<double>(bin - left) / static_cast<double>(centre - left));
        for (int64_t bin = centre; bin < right; ++bin)
            set(bin, static_cast<double>(right - bin) / static_cast<double>(right - centre));
    }
    return single(std::move(out));
}

constexpr const char* windowAttributes = "output_datatype:int=1 periodic:int=1";

} // namespace

std::span<const OpRow> signalRows() {
    static const OpRow rows[] = {
        {.op = Op::BlackmanWindow,
         .name = "BlackmanWindow",
         .since = 17,
         .inputs = "size",
         .attributes = windowAttributes,
         .infer = inferWindow,
         .reference = onTensors<runWindow>},
        {.op = Op::DFT,
         .name = "DFT",
         .since = 17,
         .maxInputs = 3,
         .inputs = "input dft_length axis",
         .attributes = "axis:int=1 inverse:int=0 onesided:int=0",
         .infer = inferDft,
         .reference = onTensors<runDft>},
        {.op = Op::HammingWindow,
         .name = "HammingWindow",
         .since = 17,
         .inputs = "size",
         .attributes = windowAttributes,
         .infer = inferWindow,
         .reference = onTensors<runWindow>},
        {.op = Op::HannWindow,
         .name = "HannWindow",
         .since = 17,
         .inputs = "size",
         .attributes = windowAttributes,
         .infer = inferWindow,
         .reference = onTensors<runWindow>},
        {.op = Op::MelWeightMatrix,
         .name = "MelWeightMatrix",
         .since = 17,
         .minInputs = 5,
         .maxInputs = 5,
         .inputs = "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz",
         .attributes = "output_datatype:int=1",
         .infer = inferMel,
         .reference = onTensors<runMel>},
        {.op = Op::STFT,
         .name = "STFT",
         .since = 17,
         .minInputs = 2,
         .maxInputs = 4,
         .inputs = "signal frame_step window frame_length",
         .attributes = "onesided:int=1",
         .infer = inferStft,
         .reference = onTensors<runStft>},
    };
    return rows;
}

} // namespace fuselage
