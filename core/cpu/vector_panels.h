// SPDX-License-Identifier: Apache-2.0
// The loop over panels of weights of 4 bits that every way to multiply them shares. Included only
// inside the unnamed namespaces of the vector files, for the reason that vector_body.h gives.

/// As many panels at a time as fit the registers beside `rows` rows, then one by one. `Way` has
/// `multiply<rows, panels>(tile)`.
template <typename Way, size_t rows, size_t panels> void overPanels(NibbleTile tile) {
    for (size_t left = tile.panels; left > 0;) {
        const size_t taken = left < panels ? 1 : panels;
        if (taken == panels)
            Way::template multiply<rows, panels>(tile);
        else
            Way::template multiply<rows, 1>(tile);
        tile.b += taken * tile.panelBytes;
        tile.c += taken * NibbleTile::columns;
        left -= taken;
    }
}
