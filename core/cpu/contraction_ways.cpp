// SPDX-License-Identifier: Apache-2.0
// Which of several ways computes a contraction: integers as integers, else the fastest of one
// primitive, bands of an image and minimal filtering.
#include "core/cpu/banded_convolution.h"
#include "core/cpu/choice.h"
#include "core/cpu/contraction.h"
#include "core/cpu/integer_contraction.h"
#include "core/cpu/integer_turned.h"
#include "core/cpu/winograd.h"

namespace fuselage::cpu {

KernelResult prepareWinograd(const Contraction& program, const PrepareContext& context) {
    KernelResult kernel = prepareWhole(program, context, true);
    if (kernel)
        (*kernel)->numeric = NumericClass::Reassociated;
    return kernel;
}

KernelResult prepareContraction(const Contraction& program, const PrepareContext& context) {
    if (!unsupportedInteger(program, context)) {
        if (auto turned = prepareTurnedInteger(program, context); turned && *turned)
            return std::move(*turned);
        KernelResult kernel = prepareInteger(program, context);
        if (kernel)
            return kernel;
    }
    auto whole = [&](const PrepareContext& c) { return prepareWhole(program, c, false); };
    if (context.allowed < NumericClass::Reassociated) // each other way sums in another order
        return whole(context);
    std::vector<Way> ways{{"one primitive", 1, whole}};
    std::string key;
    if (canBeBanded(program, context)) {
        ways.push_back({"bands", bandedCost(),
                        [&](const PrepareContext& c) { return prepareBanded(program, c); }});
        key = bandedKey(program, context);
    } else if (canBeWinograd(program, context)) {
        ways.push_back({"minimal filtering", winogradCost(program, context),
                        [&](const PrepareContext& c) { return prepareWinograd(program, c); }});
        key = winogradKey(program, context);
    }
    return prepareFastest(key, ways, context);
}

} // namespace fuselage::cpu
