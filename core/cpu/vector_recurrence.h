// SPDX-License-Identifier: Apache-2.0
// Tokens of a linear recurrence. Included only by vector_body.h, inside its unnamed namespace.

constexpr size_t recurrenceWides = RecurrenceTile::columns / wideLanes;

/// The columns of a row, in registers.
struct RecurrenceRow {
    Wide part[recurrenceWides];

    static RecurrenceRow load(const float* from) {
        RecurrenceRow out;
        for (size_t i = 0; i < recurrenceWides; ++i)
            out.part[i] = loadWide(from + i * wideLanes);
        return out;
    }

    void store(float* to) const {
        for (size_t i = 0; i < recurrenceWides; ++i)
            storeWide(to + i * wideLanes, part[i]);
    }

    void add(float factor, const RecurrenceRow& row) {
        const Wide wide = everyLane(factor);
        for (size_t i = 0; i < recurrenceWides; ++i)
            part[i] += wide * row.part[i];
    }

    void add(const RecurrenceRow& row) {
        for (size_t i = 0; i < recurrenceWides; ++i)
            part[i] += row.part[i];
    }

    void scale(float factor) {
        const Wide wide = everyLane(factor);
        for (size_t i = 0; i < recurrenceWides; ++i)
            part[i] *= wide;
    }
};

/// add(sum, k) for every k below depth, in two chains of sums, so that one does not wait for the
/// other.
template <typename Add> inline RecurrenceRow sumOverDepth(size_t depth, Add add) {
    RecurrenceRow even = {}, odd = {};
    size_t k = 0;
    for (; k + 1 < depth; k += 2) {
        add(even, k);
        add(odd, k + 1);
    }
    if (k < depth)
        add(even, k);
    even.add(odd);
    return even;
}

template <bool decays> inline RecurrenceRow keptRow(const RecurrenceTile& tile, size_t k) {
    RecurrenceRow row = RecurrenceRow::load(tile.state + k * RecurrenceTile::columns);
    if (decays)
        row.scale(tile.decay[k * tile.decayStep]);
    return row;
}

/// What the token adds, for a key of 1.
template <bool decays> inline RecurrenceRow addedBy(const RecurrenceTile& tile) {
    RecurrenceRow out = RecurrenceRow::load(tile.value);
    if (tile.corrects)
        out.add(sumOverDepth(tile.depth, [&](RecurrenceRow& sum, size_t k) {
            sum.add(-tile.key[k], keptRow<decays>(tile, k));
        }));
    out.scale(tile.rate);
    return out;
}

/// The first row of the query reads rows of the state as they are made. A tile of its own: stores
/// to the state change nothing in it.
template <bool decays> inline void recurWith(const RecurrenceTile tile) {
    constexpr size_t columns = RecurrenceTile::columns;
    const RecurrenceRow more = addedBy<decays>(tile);
    const auto update = [&](size_t k) {
        RecurrenceRow row = keptRow<decays>(tile, k);
        row.add(tile.key[k], more);
        row.store(tile.state + k * columns);
        return row;
    };
    if (tile.rows == 0)
        for (size_t k = 0; k < tile.depth; ++k)
            update(k);
    for (size_t r = 0; r < tile.rows; ++r) {
        const float* query = tile.query + r * tile.depth;
        sumOverDepth(tile.depth, [&](RecurrenceRow& sum, size_t k) {
            sum.add(query[k], r == 0 ? update(k) : RecurrenceRow::load(tile.state + k * columns));
        }).store(tile.result + r * columns);
    }
}

void recur(const RecurrenceTile& tile) {
    tile.decay ? recurWith<true>(tile) : recurWith<false>(tile);
}
