// SPDX-License-Identifier: Apache-2.0
// What a person leaves in float, by rule, point, operator or node, and what would be stored for
// nobody; everything else that rules ask for is quantised.
#pragma once

#include "app/quantize/places.h"
#include "core/support/result.h"

#include <string>
#include <vector>

namespace fuselage::quantize {

/// Takes out of the placement what the texts name; it stands among `leftOut` then. A text is
///
///     rule:AdaptiveAvgPool     what this rule asks for
///     point:RESIDUAL_INPUT     points of this name
///     op:Conv                  what nodes of this operator read
///     op:Conv group>1          the same where an attribute (an integer) compares so:
///                              == != < <= > >=
///     node:/layer1/conv/Conv   what this node reads; `*` in a name stands for anything
///
/// Errors: "usage.skip" for a text that is none of these, and for one that names nothing that is
/// there, so that a slip of the pen quantises nothing in silence.
Result<void> leaveOut(const std::vector<std::string>& texts, Placement& placement);

/// The same for nodes by name, which need not be asked for: error "usage.node" when the model has
/// no such node.
Result<void> keepFloat(const Graph& model, const std::vector<std::string>& nodes,
                       Placement& placement);

/// Leaves out the values for whose readers there is no kernel of integers here, whatever is stored:
/// products of two computed values, as in attention, and ConvTranspose.
void leaveUnopened(Placement& placement);

} // namespace fuselage::quantize
