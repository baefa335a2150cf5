// SPDX-License-Identifier: Apache-2.0
// The kernel of the tests of barriers and copies of boxes and of pixels: a ring of two stages
// between a thread that fills it and a warp that empties it, with steps that may be left out or
// wrong.
#pragma once

namespace tma {

constexpr int columns = 30, rows = 37, pitch = 32; ///< of the tensor, floats
constexpr int boxColumns = 32, boxRows = 8, tiles = 5, stages = 2;
/// Of the pixels: a filter with borders of 1 on an image of this height and width, in steps of
/// `stepDown` and `stepAlong`, which makes `down` x `along` results; 8 of these are a column.
constexpr int images = 2, height = 7, width = 5, stepDown = 3, stepAlong = 1;
constexpr int down = 3, along = 5;
constexpr unsigned boxBytes = boxColumns * boxRows * 4, ringBytes = stages * boxBytes;

struct Steps {
    bool publish = true;   ///< fence.mbarrier_init
    bool meet = true;      ///< a __syncthreads behind it
    bool waitFull = true;  ///< before a stage is read
    bool waitEmpty = true; ///< before a stage is filled
    bool empty = true;     ///< who read says so
    bool late = false;     ///< ... but first says so and then reads
    bool flip = true;      ///< the parity of the second round differs
    bool sync = true;      ///< the warp meets before one lane says that it has read
    bool generic = false;  ///< a thread writes to the ring before, without a fence
    unsigned arrivals = 1; ///< that a full stage waits for
    unsigned again = 0;    ///< arrivals too many
    unsigned expect = boxBytes;
    bool pixels = false;               ///< a column of pixels is copied, by im2col mode
    unsigned short offset[2] = {0, 0}; ///< along, down
    int aside = 0;                     ///< of where each column begins, along
};

/// arguments: Steps, a map, then 32 floats a tile: sums of the box's columns, each row times its
/// number in the box, from 1 on. Blocks of 64 threads,
/// ringBytes + 32 bytes of shared memory.
void ring(void* const* arguments);

} // namespace tma
