// SPDX-License-Identifier: Apache-2.0
#include "gpu/backend/order_price.h"

#include "core/cost/decision.h"
#include "gpu/kernels/variant_table.h"
#include "gpu/libs/cublaslt_call.h"
#include "gpu/tune/left_out.h"
#include "gpu/tune/tactic_key.h"
#include "gpu/tune/tuner.h"

#include <algorithm>

namespace fuselage::gpu {

namespace {

/// Kernels of the last resort count where nothing else computes the step.
bool isPlain(const std::string& variant) {
    const auto variants = kernelVariants();
    return std::any_of(variants.begin(), variants.end(),
                       [&](const VariantRow& row) { return row.plain && row.name == variant; });
}

enum class Order : uint8_t { AsGiven, OfModel, ChannelsLast };

/// Operands whose order is open in this one, the others as in the model.
std::vector<OperandLayout> layoutsOf(const std::vector<OperandType>& types,
                                     const std::vector<const Extents*>& known, Order order) {
    std::vector<OperandLayout> out;
    for (size_t i = 0; i < types.size(); ++i) {
        const Extents& extents = types[i].extents;
        const Extents* strides = i < known.size() ? known[i] : nullptr;
        out.push_back({types[i].dtype, extents,
                       strides == nullptr || order == Order::OfModel ? rowMajorStrides(extents)
                       : order == Order::ChannelsLast                ? channelsLast(extents)
                                                                     : *strides});
    }
    return out;
}

KernelRequest requestFor(const LaidProgram& laid, const DeviceProfile& profile, Order order) {
    KernelRequest out;
    out.program = laid.program;
    out.inputs = layoutsOf(laid.program->inputs, laid.order.inputs, order);
    out.outputs = layoutsOf(laid.program->outputs, laid.order.outputs, order);
    out.constants = laid.constants;
    out.profile = &profile;
    out.allowed = laid.allowed;
    out.strict = laid.strict;
    out.tf32 = laid.tf32;
    out.capability = capabilityOf(profile.arch);
    return out;
}

/// Rows that no one stride steps over make a product several for a library, or none, while our
/// tiles go on as they are. What that costs was not measured: as much as an order must win at
/// least.
double lossOfLibraries(const KernelRequest& request) {
    const auto* code = std::get_if<Contraction>(&request.program->code);
    if (code == nullptr || code->kind != Contraction::Kind::MatMul || code->batchDims != 0)
        return 1;
    const auto call = describeLt(request);
    const auto* lt = std::get_if<LtCall>(&call);
    const auto* reason = std::get_if<Reason>(&call);
    const bool isOne = lt != nullptr ? lt->batch == 1 : reason->code != "layout";
    return isOne ? 1 : 1 + least_share::order;
}

} // namespace

const OrderPrices::Kernels& OrderPrices::kernelsFor(const KernelRequest& request) {
    const std::string key = tacticKey(request, {}).hash;
    {
        std::lock_guard lock(m_lock);
        if (const auto known = m_known.find(key); known != m_known.end())
            return known->second;
    }
    Kernels kernels, plain;
    for (const KernelSet& set : emitAll(request).accepted) {
        if (whyLeftOut(set.variant, true, m_without, {}))
            continue;
        TacticFacts facts;
        facts.numeric = set.numeric;
        if (!whyIllegal(facts, request.allowed, request.workspaceLimit))
            (isPlain(set.variant) ? plain : kernels).push_back(termsOf(request, set));
    }
    std::lock_guard lock(m_lock);
    return m_known.emplace(key, kernels.empty() ? std::move(plain) : std::move(kernels))
        .first->second;
}

/// Without launches, which no order changes.
double OrderPrices::seconds(const KernelRequest& request, TimeEstimate estimate) {
    estimate.launch = 0;
    const Kernels& kernels = kernelsFor(request);
    if (kernels.empty()) // the host computes it
        return predictHostTime(*request.program, logicalTraffic(*request.program), m_profile)
            .seconds;
    double out = predictedRun(kernels.front(), estimate, m_profile);
    for (const KernelTerms& kernel : kernels)
        out = std::min(out, predictedRun(kernel, estimate, m_profile));
    return out;
}

double OrderPrices::loss(const LaidProgram& laid, const TimeEstimate& estimate) {
    if (estimate.seconds <= estimate.launch)
        return 1;
    const KernelRequest request = requestFor(laid, m_profile, Order::AsGiven);
    const double is = seconds(request, estimate);
    double best = is;
    for (const Order other : {Order::OfModel, Order::ChannelsLast})
        best = std::min(best, seconds(requestFor(laid, m_profile, other), estimate));
    return (best > 0 ? is / best : 1) * lossOfLibraries(request);
}

} // namespace fuselage::gpu
