// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_zoo/shrink.h"

#include "core/graph/type.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace fuselage::gpu_zoo {

namespace {

int64_t reachOf(const SlidingWindow& window, size_t d) {
    return (window.kernel[d] - 1) * window.dilations[d] + 1 - window.padsBegin[d] -
           window.padsEnd[d];
}

/// The operand's extent that gives `after` results where `operand` gave `before`.
int64_t slidOver(const SlidingWindow& window, size_t d, int64_t operand, int64_t before,
                 int64_t after) {
    return operand - (before - after) * window.strides[d];
}

/// Fewest results whose operand is not empty.
int64_t leastResults(const SlidingWindow& window, size_t d) {
    int64_t out = 1;
    while ((out - 1) * window.strides[d] + reachOf(window, d) < 1)
        ++out;
    return out;
}

class Shrinker {
public:
    Shrinker(const gpu::KernelRequest& request, int64_t most)
        : m_request(request), m_most(most), m_program(*request.program) {}

    std::optional<ShrunkProgram> run() {
        const bool done =
            std::visit([this](auto& code) { return shrinkCode(code); }, m_program.code);
        if (!done || m_failed)
            return std::nullopt;
        for (OperandType& input : m_program.inputs)
            if (!input.extents.empty() && !m_seen.contains({&input.extents, 0}))
                input.extents = all(input.extents); // nobody reads it
        ShrunkProgram out;
        out.program = std::make_unique<KernelProgram>(std::move(m_program));
        out.program->body = nullptr; // of the program's own extents
        out.request = m_request;
        out.request.program = out.program.get();
        for (size_t i = 0; i < out.program->inputs.size(); ++i)
            place(m_request.inputs[i], out.program->inputs[i].extents, out.request.inputs[i]);
        for (size_t i = 0; i < out.request.constants.size(); ++i)
            if (out.request.constants[i])
                out.request.constants[i] = weights(out.request.inputs[i]);
        for (size_t i = 0; i < out.program->outputs.size(); ++i)
            place(m_request.outputs[i], out.program->outputs[i].extents, out.request.outputs[i]);
        return out;
    }

private:
    int64_t f(int64_t extent) const { return shrunkExtent(extent, m_most); }

    Extents all(const Extents& extents) const {
        Extents out;
        for (int64_t extent : extents)
            out.push_back(f(extent));
        return out;
    }

    static Extents joined(Extents a, const Extents& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }

    /// Positive numbers: some are variances. None for integers, which may be indices.
    static TensorPtr weights(const gpu::OperandLayout& layout) {
        if (!isFloat(layout.dtype))
            return nullptr;
        auto out = std::make_shared<Tensor>(layout.dtype, layout.extents);
        for (int64_t i = 0; i < out->elementCount(); ++i)
            out->set(i, static_cast<double>(i * 37 % 101 + 5) / 100);
        return out;
    }

    // --- accesses

    /// Scales of terms that are a number in mixed radix follow the extents; other terms must be one
    /// alone, or their dims keep their extents.
    bool scale(DimIndex& index, const Extents& before, const Extents& after) const {
        std::vector<IndexTerm*> terms;
        for (IndexTerm& term : index.terms)
            terms.push_back(&term);
        std::sort(terms.begin(), terms.end(),
                  [](const IndexTerm* a, const IndexTerm* b) { return a->scale < b->scale; });
        int64_t next = terms.empty() ? 1 : terms[0]->scale, scaled = next;
        for (IndexTerm* term : terms) {
            const bool same = before[term->dim] == after[term->dim];
            if (term->scale == next) {
                next *= before[term->dim];
                term->scale = scaled;
                scaled *= after[term->dim];
            } else if (!same || terms.size() > 1) {
                return false;
            }
        }
        return next > 0;
    }

    static int64_t spanOf(const DimIndex& index, const Extents& extents) {
        int64_t out = 1;
        for (const IndexTerm& term : index.terms)
            out += term.scale * (extents[term.dim] - 1);
        return out;
    }

    /// Pieces of one size that lie side by side still do, as the halves of a rotated head: an
    /// offset counts whole pieces. False: it does not.
    bool keepPieces(Access& access, const Extents& before, const Extents& after) const {
        bool whole = true;
        for (DimIndex& index : access.index) {
            DimIndex scaled = index;
            const int64_t span = spanOf(index, before);
            if (index.offset > 0 && index.offset % span == 0 && scale(scaled, before, after))
                index.offset = index.offset / span * spanOf(scaled, after);
            else
                whole = whole && index.offset == 0;
        }
        return whole;
    }

    /// The operand gets the extents that the access reaches.
    void follow(Access& access, std::vector<OperandType>& operands, const Extents& before,
                const Extents& after) {
        Extents& extents = operands[access.operand].extents;
        const Extents given =
            (&operands == &m_program.inputs ? m_request.inputs : m_request.outputs)[access.operand]
                .extents;
        for (size_t d = 0; d < access.index.size(); ++d) {
            DimIndex& index = access.index[d];
            m_failed = m_failed || !scale(index, before, after);
            int64_t last = index.offset;
            for (const IndexTerm& term : index.terms)
                last += term.scale * (after[term.dim] - 1);
            const bool first = m_seen.insert({&extents, d}).second;
            extents[d] = first ? last + 1 : std::max(extents[d], last + 1);
            m_failed = m_failed || last < 0 || extents[d] > given[d];
        }
    }

    void follow(std::vector<Access>& accesses, std::vector<OperandType>& operands,
                const Extents& before, const Extents& after) {
        for (Access& access : accesses)
            follow(access, operands, before, after);
    }

    /// The same order in memory, dense except where a gap was, gaps being multiples of 8.
    static void place(const gpu::OperandLayout& before, const Extents& extents,
                      gpu::OperandLayout& after) {
        std::vector<size_t> order(extents.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return before.strides[a] != before.strides[b] ? before.strides[a] < before.strides[b]
                                                          : before.extents[a] < before.extents[b];
        });
        int64_t dense = 1, next = 1;
        after.extents = extents;
        for (size_t d : order) {
            if (before.extents[d] != 1 && before.strides[d] > dense)
                next = (next + 8) / 8 * 8;
            after.strides[d] = next;
            dense = before.extents[d] == 1 ? dense : before.strides[d] * before.extents[d];
            next *= extents[d];
        }
    }

    /// The operand has its extents already.
    void settle(uint32_t operand) {
        Extents& extents = m_program.inputs[operand].extents;
        for (size_t d = 0; d < extents.size(); ++d)
            m_seen.insert({&extents, d});
    }

    // --- kinds

    bool shrinkCode(Pointwise& code) {
        const Extents before = code.space;
        code.space = all(before);
        for (Access& read : code.reads)
            keepPieces(read, before, code.space);
        for (Access& write : code.writes) // results that nobody writes are a gap
            m_failed = !keepPieces(write, before, code.space) || m_failed;
        follow(code.reads, m_program.inputs, before, code.space);
        follow(code.writes, m_program.outputs, before, code.space);
        return true;
    }

    bool shrinkCode(Row& code) {
        const Extents outer = code.outer, before = joined(code.outer, code.inner);
        code.outer = all(code.outer);
        code.inner = all(code.inner);
        const Extents after = joined(code.outer, code.inner);
        follow(code.reads, m_program.inputs, before, after);
        follow(code.elementWrites, m_program.outputs, before, after);
        follow(code.rowWrites, m_program.outputs, outer, code.outer);
        return true;
    }

    void prologue(std::optional<Prologue>& code, uint32_t operand) {
        if (code)
            follow(code->reads, m_program.inputs, m_request.inputs[operand].extents,
                   m_program.inputs[operand].extents);
    }

    bool shrinkCode(Contraction& code) {
        const Extents space = code.space, poolSpace = code.poolSpace;
        if (code.kind == Contraction::Kind::MatMul) {
            const Extents before = joined(code.space, code.k);
            code.space = all(code.space);
            code.k = all(code.k);
            const Extents after = joined(code.space, code.k);
            follow(code.a, m_program.inputs, before, after);
            follow(code.b, m_program.inputs, before, after);
        } else {
            convolve(code);
            settle(code.a.operand);
            settle(code.b.operand);
        }
        prologue(code.prologueA, code.a.operand);
        prologue(code.prologueB, code.b.operand);
        follow(code.epilogue.reads, m_program.inputs, space, code.space);
        follow(code.epilogue.writes, m_program.outputs, code.poolWindow ? poolSpace : space,
               code.poolWindow ? code.poolSpace : code.space);
        return true;
    }

    void convolve(Contraction& code) {
        Extents& x = m_program.inputs[code.a.operand].extents;
        Extents& w = m_program.inputs[code.b.operand].extents;
        const int64_t channels = x[1], results = code.space[1];
        const bool transposed = code.kind == Contraction::Kind::ConvTranspose;
        if (code.groups == channels) { // depthwise
            code.groups = x[1] = f(code.groups);
            code.space[1] = code.groups * (results / channels);
        } else if (code.groups == 1) {
            x[1] = f(channels);
            code.space[1] = f(results);
        }
        w[0] = transposed ? x[1] : code.space[1];
        w[1] = (transposed ? code.space[1] : x[1]) / code.groups;
        x[0] = code.space[0] = f(code.space[0]);
        if (code.poolWindow) {
            code.poolSpace[0] = code.space[0];
            code.poolSpace[1] = code.space[1];
        }
        for (size_t d = 0; d < code.window.kernel.size(); ++d) {
            int64_t& out = code.space[d + 2];
            const int64_t before = out;
            if (transposed) {
                const int64_t after = f(x[d + 2]);
                out -= (x[d + 2] - after) * code.window.strides[d];
                x[d + 2] = after;
                continue;
            }
            out = std::min(out, std::max(f(out), leastResults(code.window, d)));
            if (code.poolWindow) {
                int64_t& pooled = code.poolSpace[d + 2];
                const int64_t after = f(pooled);
                out = slidOver(*code.poolWindow, d, before, pooled, after);
                pooled = after;
            }
            x[d + 2] = slidOver(code.window, d, x[d + 2], before, out);
        }
    }

    bool shrinkCode(Window& code) {
        const Extents before = code.space;
        Extents& x = m_program.inputs[code.operand].extents;
        for (size_t d = 0; d < before.size(); ++d) {
            if (d < 2) {
                x[d] = code.space[d] = f(before[d]);
                continue;
            }
            int64_t& out = code.space[d];
            out = std::min(out, std::max(f(out), leastResults(code.window, d - 2)));
            x[d] = slidOver(code.window, d - 2, x[d], before[d], out);
        }
        settle(code.operand);
        prologue(code.prologue, code.operand);
        follow(code.epilogue.reads, m_program.inputs, before, code.space);
        follow(code.epilogue.writes, m_program.outputs, before, code.space);
        return true;
    }

    bool shrinkCode(Attention& code) {
        auto joinedWith = [](const Attention& from, int64_t a, int64_t b) {
            return joined(from.batch, {a, b});
        };
        const Attention before = code;
        code.batch = all(code.batch);
        code.l = f(code.l);
        code.s = f(code.s);
        code.d = f(code.d);
        code.e = f(code.e);
        const Attention& after = code;
        follow(code.q, m_program.inputs, joinedWith(before, before.l, before.d),
               joinedWith(after, after.l, after.d));
        follow(code.k, m_program.inputs, joinedWith(before, before.s, before.d),
               joinedWith(after, after.s, after.d));
        follow(code.v, m_program.inputs, joinedWith(before, before.s, before.e),
               joinedWith(after, after.s, after.e));
        follow(code.output, m_program.outputs, joinedWith(before, before.l, before.e),
               joinedWith(after, after.l, after.e));
        for (ScoreStep& step : code.steps)
            if (step.reads())
                follow(step.access, m_program.inputs, joinedWith(before, before.l, before.s),
                       joinedWith(after, after.l, after.s));
        if (code.sink && code.sink->read)
            follow(*code.sink->read, m_program.inputs, joinedWith(before, before.l, 1),
                   joinedWith(after, after.l, 1));
        return true;
    }

    /// Pieces that follow one another along a dimension of the output still do.
    bool shrinkCode(Copy& code) {
        std::map<std::pair<uint32_t, size_t>, std::map<int64_t, int64_t>> boundaries;
        for (const Copy::Piece& piece : code.pieces)
            for (size_t d = 0; d < piece.write.index.size(); ++d) {
                const DimIndex& index = piece.write.index[d];
                const int64_t span = spanOf(index, piece.space);
                auto& of = boundaries[{piece.write.operand, d}];
                of[index.offset] = of[index.offset + span] = 0;
            }
        for (auto& [where, of] : boundaries) {
            int64_t before = 0, after = 0;
            for (auto& [offset, moved] : of) {
                after += offset == before ? 0 : f(offset - before);
                before = offset;
                moved = after;
            }
        }
        for (Copy::Piece& piece : code.pieces) {
            const Extents before = piece.space;
            piece.space = all(before);
            if (piece.read)
                follow(*piece.read, m_program.inputs, before, piece.space);
            for (size_t d = 0; d < piece.write.index.size(); ++d) {
                DimIndex& index = piece.write.index[d];
                const auto& of = boundaries[{piece.write.operand, d}];
                const int64_t end = of.at(index.offset + spanOf(index, before));
                index.offset = of.at(index.offset);
                DimIndex scaled = index;
                m_failed = m_failed || !scale(scaled, before, piece.space);
                // A gap, or pieces that overlap.
                m_failed = m_failed || index.offset + spanOf(scaled, piece.space) != end;
            }
            follow(piece.write, m_program.outputs, before, piece.space);
        }
        return true;
    }

    bool shrinkCode(Group& code) {
        size_t input = 0, output = 0;
        for (KernelProgram& member : code.members) {
            gpu::KernelRequest part = m_request;
            part.program = &member;
            part.constants.clear();
            auto cut = [](const auto& from, size_t first, size_t count) {
                const auto begin = from.begin() + static_cast<ptrdiff_t>(first);
                return std::decay_t<decltype(from)>(begin, begin + static_cast<ptrdiff_t>(count));
            };
            part.inputs = cut(m_request.inputs, input, member.inputs.size());
            part.outputs = cut(m_request.outputs, output, member.outputs.size());
            auto made = shrink(part, m_most);
            if (!made)
                return false;
            member = std::move(*made->program);
            for (const OperandType& type : member.inputs)
                m_program.inputs[input] = type, settle(static_cast<uint32_t>(input++));
            for (const OperandType& type : member.outputs)
                m_program.outputs[output++] = type;
        }
        return true;
    }

    bool shrinkCode(Library&) { return false; }

    bool shrinkCode(Chain&) { return false; } // its kernels are those of the tensor cores

    const gpu::KernelRequest& m_request;
    int64_t m_most;
    KernelProgram m_program;
    std::set<std::pair<const Extents*, size_t>> m_seen; ///< dims of operands that an access set
    bool m_failed = false;
};

} // namespace

int64_t shrunkExtent(int64_t extent, int64_t most) {
    int64_t unit = 1;
    while (unit < 16 && extent % (unit * 2) == 0)
        unit *= 2;
    if (extent <= most || extent <= unit)
        return extent;
    // An odd multiple of the unit is no power of two, so loops still have a rest.
    const int64_t times = std::max<int64_t>(1, most / unit);
    const int64_t odd = times > 2 && times % 2 == 0 ? times - 1 : times;
    return std::max<int64_t>(unit * odd, 2);
}

std::optional<ShrunkProgram> shrink(const gpu::KernelRequest& request, int64_t most) {
    return Shrinker(request, most).run();
}

} // namespace fuselage::gpu_zoo
