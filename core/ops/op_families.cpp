// SPDX-License-Identifier: Apache-2.0
// A family of operators is added by listing its rows() function here.
#include "core/ops/activation.h"
#include "core/ops/attention.h"
#include "core/ops/bit_cast.h"
#include "core/ops/blocked_weights.h"
#include "core/ops/control_flow.h"
#include "core/ops/conv.h"
#include "core/ops/deform_conv.h"
#include "core/ops/detection.h"
#include "core/ops/dropout.h"
#include "core/ops/einsum.h"
#include "core/ops/elementwise_logic.h"
#include "core/ops/elementwise_math.h"
#include "core/ops/fill.h"
#include "core/ops/gather_matmul.h"
#include "core/ops/indexing.h"
#include "core/ops/layer_norm.h"
#include "core/ops/linear_recurrence.h"
#include "core/ops/losses.h"
#include "core/ops/matmul.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/ops/op_table_internal.h"
#include "core/ops/pooling.h"
#include "core/ops/quantize.h"
#include "core/ops/quantized.h"
#include "core/ops/random.h"
#include "core/ops/recurrent.h"
#include "core/ops/reduce.h"
#include "core/ops/resample.h"
#include "core/ops/rotary.h"
#include "core/ops/selection.h"
#include "core/ops/sequence.h"
#include "core/ops/shape.h"
#include "core/ops/signal.h"
#include "core/ops/softmax.h"
#include "core/ops/strings.h"

namespace fuselage {

namespace {

constexpr OpRows families[] = {
    // operators with a tape
    elementwiseMathRows,
    elementwiseLogicRows,
    activationRows,
    // sums of products
    matmulRows,
    convRows,
    deformConvRows,
    quantizedContractionRows,
    blockedWeightRows,
    gatherMatMulRows,
    linearRecurrenceRows,
    einsumRows,
    attentionRows,
    rotaryRows,
    // along axes and over windows
    reduceRows,
    softmaxRows,
    normalizationRows,
    layerNormRows,
    poolingRows,
    dropoutRows,
    // views, sizes and moved elements
    shapeRows,
    fillRows,
    movementRows,
    indexingRows,
    selectionRows,
    bitCastRows,
    quantizeRows,
    controlFlowRows,
    sequenceRows,
    resampleRows,
    detectionRows,
    recurrentRows,
    signalRows,
    randomRows,
    stringsRows,
    lossesRows,
};

} // namespace

std::span<const OpRows> opFamilies() {
    return families;
}

} // namespace fuselage
