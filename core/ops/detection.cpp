// SPDX-License-Identifier: Apache-2.0
#include "core/ops/detection.h"

#include "core/ops/infer_support.h"
#include "core/ops/tensor_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuselage {

namespace {

using Results = Result<std::vector<ReferenceValue>>;

// --- NonMaxSuppression --------------------------------------------------------------------

struct Box {
    double top = 0;
    double left = 0;
    double bottom = 0;
    double right = 0;
    double area = 0;
};

Box boxOf(double top, double left, double bottom, double right) {
    return {top, left, bottom, right, (bottom - top) * (right - left)};
}

/// The box at four numbers: two corners in any order, or centre and size.
Box boxAt(const double* numbers, bool centred) {
    if (centred) {
        const double x = numbers[0];
        const double y = numbers[1];
        const double halfWidth = numbers[2] / 2;
        const double halfHeight = numbers[3] / 2;
        return boxOf(y - halfHeight, x - halfWidth, y + halfHeight, x + halfWidth);
    }
    return boxOf(std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]),
                 std::max(numbers[0], numbers[2]), std::max(numbers[1], numbers[3]));
}

/// Boxes field by field: one is compared with many at a time.
class BoxList {
public:
    void add(const Box& box) {
        m_top.push_back(box.top);
        m_left.push_back(box.left);
        m_bottom.push_back(box.bottom);
        m_right.push_back(box.right);
        m_area.push_back(box.area);
    }

    /// Whether some box overlaps this one by more than the threshold.
    bool covers(const Box& box, double threshold) const {
        constexpr size_t block = 32;
        for (size_t begin = 0; begin < m_top.size(); begin += block) {
            const size_t end = std::min(begin + block, m_top.size());
            int64_t near = 0;
            for (size_t i = begin; i < end; ++i) {
                const double height =
                    std::min(box.bottom, m_bottom[i]) - std::max(box.top, m_top[i]);
                const double width =
                    std::min(box.right, m_right[i]) - std::max(box.left, m_left[i]);
                const double common = height * width;
                const double both = box.area + m_area[i] - common;
                near |= int64_t(height > 0) & int64_t(width > 0) &
                        int64_t(common >= 0.999 * threshold * both);
            }
            // Few are near the threshold: only they need the division that the operator names.
            for (size_t i = begin; near != 0 && i < end; ++i)
                if (overlapsMoreThan(i, box, threshold))
                    return true;
        }
        return false;
    }

private:
    bool overlapsMoreThan(size_t i, const Box& box, double threshold) const {
        const double height = std::min(box.bottom, m_bottom[i]) - std::max(box.top, m_top[i]);
        const double width = std::min(box.right, m_right[i]) - std::max(box.left, m_left[i]);
        if (height <= 0 || width <= 0 || box.area <= 0 || m_area[i] <= 0)
            return false;
        const double common = height * width;
        return common / (box.area + m_area[i] - common) > threshold;
    }

    std::vector<double> m_top, m_left, m_bottom, m_right, m_area;
};

/// Boxes by the stretches of the vertical axis that they reach into: only boxes that share one can
/// overlap, so each is compared with few of the others.
class BoxIndex {
public:
    /// `heights` is the sum over all boxes that may come. A cell is as high as a box is on average,
    /// so that all of them together lie in at most two cells each.
    BoxIndex(double top, double bottom, double heights, size_t boxes) : m_top(top) {
        const double range = bottom - top;
        const double cells = std::min(range * static_cast<double>(boxes) / heights, mostCells);
        if (!(cells > 1) || !std::isfinite(range)) // nothing to tell apart, or no end to it
            return;
        m_cells.resize(static_cast<size_t>(cells));
        m_perUnit = static_cast<double>(m_cells.size()) / range;
    }

    void add(const Box& box) {
        for (size_t cell = cellOf(box.top), last = cellOf(box.bottom); cell <= last; ++cell)
            m_cells[cell].add(box);
    }

    /// Whether some box overlaps this one by more than the threshold.
    bool covers(const Box& box, double threshold) const {
        for (size_t cell = cellOf(box.top), last = cellOf(box.bottom); cell <= last; ++cell)
            if (m_cells[cell].covers(box, threshold))
                return true;
        return false;
    }

private:
    static constexpr double mostCells = 4096;

    size_t cellOf(double at) const {
        const double cell = (at - m_top) * m_perUnit;
        if (!(cell > 0)) // NaN, too, and it overlaps nothing
            return 0;
        return cell < static_cast<double>(m_cells.size()) ? static_cast<size_t>(cell)
                                                          : m_cells.size() - 1;
    }

    double m_top = 0, m_perUnit = 0;
    std::vector<BoxList> m_cells{1};
};

void inferNonMaxSuppression(InferContext& context) {
    const Type &boxes = context.input(0), &scores = context.input(1);
    if (boxes.shape && scores.shape) {
        const bool ranks = boxes.rank() == 3 && scores.rank() == 3;
        if (!ranks || certainlyDifferent((*boxes.shape)[2], 4) ||
            certainlyDifferent((*boxes.shape)[0], (*scores.shape)[0]) ||
            certainlyDifferent((*boxes.shape)[1], (*scores.shape)[2]))
            context.fail(fmt::format("NonMaxSuppression: boxes {} and scores {} do not go together",
                                     boxes.text(), scores.text()));
    }
    setTensor(context, 0, DType::Int64, Shape{Dim(), 3});
}

double numberAt(ReferenceInputs inputs, size_t index, double fallback) {
    const ReferenceValue* value = inputAt(inputs, index);
    return value && value->count() > 0 && value->dtype != DType::String ? value->at(0) : fallback;
}

Results runNonMaxSuppression(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& boxes = *inputs[0];
    const ReferenceValue& scores = *inputs[1];
    if (boxes.extents.size() != 3 || scores.extents.size() != 3 || boxes.extents[2] != 4 ||
        boxes.extents[0] != scores.extents[0] || boxes.extents[1] != scores.extents[2] ||
        !isFloat(boxes.dtype) || !isFloat(scores.dtype))
        return badInput(node, fmt::format("boxes {} and scores {} do not go together",
                                          text(boxes.extents), text(scores.extents)));
    const double limit = numberAt(inputs, 2, 0);
    const double overlap = numberAt(inputs, 3, 0);
    const double least = numberAt(inputs, 4, -std::numeric_limits<double>::infinity());
    const bool centred = node.attributes.integer("center_point_box") != 0;
    const int64_t count = boxes.extents[1];
    std::vector<int64_t> selected;
    for (int64_t row = 0; row < scores.extents[0] * scores.extents[1]; ++row) {
        const int64_t batch = row / scores.extents[1];
        const double* score = scores.floats.data() + row * count;
        const auto box = [&](int64_t i) {
            return boxAt(boxes.floats.data() + (batch * count + i) * 4, centred);
        };
        std::vector<std::pair<double, int64_t>> order; // equal scores in the order of the boxes
        for (int64_t i = 0; i < count; ++i)
            if (score[i] > least)
                order.emplace_back(-score[i], i);
        std::sort(order.begin(), order.end());
        double top = std::numeric_limits<double>::infinity(), bottom = -top;
        double heights = 0;
        for (const auto& [negated, i] : order) {
            top = std::min(top, box(i).top);
            bottom = std::max(bottom, box(i).bottom);
            heights += box(i).bottom - box(i).top;
        }
        BoxIndex kept(top, bottom, heights, order.size());
        double taken = 0;
        for (const auto& [negated, i] : order) {
            if (taken >= limit)
                break;
            const Box candidate = box(i);
            if (kept.covers(candidate, overlap))
                continue;
            kept.add(candidate);
            ++taken;
            selected.insert(selected.end(), {batch, row % scores.extents[1], i});
        }
    }
    ReferenceValue out;
    out.dtype = DType::Int64;
    out.extents = {static_cast<int64_t>(selected.size() / 3), 3};
    out.ints = std::move(selected);
    return single(std::move(out));
}

// --- RoiAlign -----------------------------------------------------------------------------

void inferRoiAlign(InferContext& context) {
    const Shape* x = shapeOf(context, 0);
    const Shape* rois = shapeOf(context, 1);
    const auto& attributes = context.node().attributes;
    Shape shape(4);
    if (rois && !rois->empty())
        shape[0] = rois->front();
    if (x && x->size() == 4)
        shape[1] = (*x)[1];
    shape[2] = attributes.integer("output_height", 1);
    shape[3] = attributes.integer("output_width", 1);
    setTensor(context, 0, dtypeOf(context, 0), std::move(shape));
}

RoiSample sampleAt(double y, double x, int64_t height, int64_t width) {
    RoiSample out;
    if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 &&
          x <= static_cast<double>(width)))
        return out;
    y = std::max(y, 0.0);
    x = std::max(x, 0.0);
    const int64_t top = std::min(static_cast<int64_t>(y), height - 1);
    const int64_t left = std::min(static_cast<int64_t>(x), width - 1);
    const int64_t bottom = std::min(top + 1, height - 1);
    const int64_t right = std::min(left + 1, width - 1);
    // On the last row or column the position itself is clamped.
    const double dy = top == height - 1 ? 0 : y - static_cast<double>(top);
    const double dx = left == width - 1 ? 0 : x - static_cast<double>(left);
    out = {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
           {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx}};
    return out;
}

constexpr double maxSamplesPerRoi = 1 << 26;

} // namespace

RoiSettings::RoiSettings(const Node& node)
    : average(node.attributes.string("mode", "avg") != "max"),
      halfPixel(node.attributes.string("coordinate_transformation_mode", "half_pixel") ==
                "half_pixel"),
      scale(node.attributes.number("spatial_scale", 1)),
      height(node.attributes.integer("output_height", 1)),
      width(node.attributes.integer("output_width", 1)),
      sampling(node.attributes.integer("sampling_ratio")) {}

std::string roiMisfit(const RoiSettings& settings, const Extents& x, const Extents& rois,
                      const Extents& batches) {
    if (x.size() != 4 || rois.size() != 2 || rois[1] != 4 ||
        elementCount(batches) != std::optional(rois[0]) || settings.sampling > 1024)
        return fmt::format("rois {} do not go with X {}", text(rois), text(x));
    return "";
}

std::optional<RoiSamples> RoiSettings::samplesOf(const double roi[4], int64_t planeHeight,
                                                 int64_t planeWidth) const {
    const double shift = halfPixel ? 0.5 : 0;
    const double left = roi[0] * scale - shift;
    const double top = roi[1] * scale - shift;
    double roiWidth = roi[2] * scale - shift - left;
    double roiHeight = roi[3] * scale - shift - top;
    if (!halfPixel) { // the older convention gives every roi at least one pixel
        roiWidth = std::max(roiWidth, 1.0);
        roiHeight = std::max(roiHeight, 1.0);
    }
    const double binHeight = roiHeight / static_cast<double>(height);
    const double binWidth = roiWidth / static_cast<double>(width);
    const auto grid = [&](double bin) {
        return sampling > 0 ? static_cast<double>(sampling) : std::ceil(bin);
    };
    const double rows = grid(binHeight);
    const double columns = grid(binWidth);
    const auto bins = static_cast<double>(height) * static_cast<double>(width);
    if (!(rows * columns * bins <= maxSamplesPerRoi))
        return std::nullopt;
    RoiSamples out;
    out.perBin = rows > 0 && columns > 0 ? static_cast<size_t>(rows * columns) : 0;
    if (out.perBin == 0)
        return out;
    for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j)
            for (double r = 0; r < rows; ++r)
                for (double c = 0; c < columns; ++c)
                    out.samples.push_back(
                        sampleAt(top + (static_cast<double>(i) + (r + 0.5) / rows) * binHeight,
                                 left + (static_cast<double>(j) + (c + 0.5) / columns) * binWidth,
                                 planeHeight, planeWidth));
    return out;
}

namespace {

/// Mean, or largest weighted corner, of a bin's samples in one plane.
double pooled(const RoiSamples& roi, size_t bin, const double* plane, bool average) {
    double sum = 0;
    double best = 0;
    for (size_t k = 0; k < roi.perBin; ++k) {
        const RoiSample& sample = roi.samples[bin * roi.perBin + k];
        double corners[4];
        for (size_t i = 0; i < 4; ++i)
            corners[i] = sample.weight[i] * plane[sample.at[i]];
        sum += corners[0] + corners[1] + corners[2] + corners[3];
        const double largest = *std::max_element(corners, corners + 4);
        best = k == 0 ? largest : std::max(best, largest);
    }
    return average ? sum / static_cast<double>(std::max<size_t>(1, roi.perBin)) : best;
}

Results runRoiAlign(const Node& node, ReferenceInputs inputs, ReferenceContext&) {
    const ReferenceValue& x = *inputs[0];
    const ReferenceValue& rois = *inputs[1];
    const std::vector<int64_t> batches = intsOf(*inputs[2]);
    const RoiSettings settings(node);
    if (const std::string misfit = roiMisfit(settings, x.extents, rois.extents, inputs[2]->extents);
        !misfit.empty() || !isFloat(x.dtype) || !isFloat(rois.dtype))
        return badInput(node, misfit.empty() ? "rois and X must be floats" : misfit);
    const int64_t channels = x.extents[1];
    const int64_t plane = x.extents[2] * x.extents[3];
    auto out =
        allocateResult(node, x.dtype, {rois.extents[0], channels, settings.height, settings.width});
    if (!out || out->count() == 0)
        return single(std::move(out));
    if (plane == 0)
        return badInput(node, "the image is empty");
    const auto bins = static_cast<size_t>(settings.height * settings.width);
    for (int64_t r = 0; r < rois.extents[0]; ++r) {
        const int64_t batch = batches[static_cast<size_t>(r)];
        if (batch < 0 || batch >= x.extents[0])
            return badInput(node, fmt::format("batch index {} is out of range", batch));
        const auto samples =
            settings.samplesOf(rois.floats.data() + r * 4, x.extents[2], x.extents[3]);
        if (!samples)
            return badInput(node, fmt::format("roi {} is too large", r));
        for (int64_t c = 0; c < channels; ++c)
            for (size_t bin = 0; bin < bins; ++bin)
                out->floats[static_cast<size_t>(r * channels + c) * bins + bin] =
                    pooled(*samples, bin, x.floats.data() + (batch * channels + c) * plane,
                           settings.average);
    }
    return single(std::move(out));
}

} // namespace

std::span<const OpRow> detectionRows() {
    static const OpRow rows[] = {
        {.op = Op::NonMaxSuppression,
         .name = "NonMaxSuppression",
         .since = 10,
         .minInputs = 2,
         .maxInputs = 5,
         .traits = Discontinuous,
         .inputs = "boxes scores max_output_boxes_per_class iou_threshold score_threshold",
         .attributes = "center_point_box:int=0",
         .infer = inferNonMaxSuppression,
         .reference = onTensors<runNonMaxSuppression>},
        {.op = Op::RoiAlign,
         .name = "RoiAlign",
         .since = 10,
         .minInputs = 3,
         .maxInputs = 3,
         .traits = WindowOp,
         .inputs = "X rois batch_indices",
         .attributes = "coordinate_transformation_mode:string='half_pixel' mode:string='avg' "
                       "output_height:int=1 output_width:int=1 sampling_ratio:int=0 "
                       "spatial_scale:float=1",
         .infer = inferRoiAlign,
         .reference = onTensors<runRoiAlign>},
    };
    return rows;
}

} // namespace fuselage
