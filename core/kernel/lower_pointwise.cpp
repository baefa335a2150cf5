// SPDX-License-Identifier: Apache-2.0
// Bodies of elementwise nodes and index maps. The space is that of the largest result made last;
// the others are written where they were met on the way.
#include "core/kernel/tape_compose_internal.h"

namespace fuselage {

namespace {

struct Attempt {
    Extents space;
    IndexMap first; ///< map of the first output in outputOrder
};

} // namespace

LowerResult lowerPointwise(const LowerBody& body) {
    const std::vector<uint32_t> order = outputOrder(body);
    const Extents& extents = body.extents(body.graph().outputs()[order[0]]);
    Attempt at{extents, identityMap(extents)};
    for (int attempt = 0; attempt < maxAttempts; ++attempt) {
        Composer composer(body, at.space);
        ComposedResults composed = composeResults(composer, order, at.first, at.space.size());
        if (composer.split()) {
            refine(at.first, *composer.split());
            refine(at.space, *composer.split());
            continue;
        }
        if (composer.failed())
            return composer.reason();
        ComposedTape finished = finishTape(composer, composed.results);
        Pointwise out{at.space, std::move(finished.reads), std::move(finished.tape),
                      std::move(composed.writes)};
        return body.program(std::move(out), numericOf(body, composer.reassociated()));
    }
    return shapeReason(text(extents), text(at.space),
                       "the shapes of the body cannot be brought to one space");
}

} // namespace fuselage
