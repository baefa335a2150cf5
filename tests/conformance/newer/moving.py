# SPDX-License-Identifier: Apache-2.0
"""Operators since opset 18 that move elements: padding, splitting, scattering, cropping, resizing, sampling, windows."""
import itertools
import math

import numpy as np

from node_test import F, I64, NodeTest, draw, whole


def paddings():
    x = draw('pad', 2, 3, 4)
    for name, axes, pads, widths in (('axes', [2, 0], [1, 2, 0, 1], [(2, 1), (0, 0), (1, 0)]),
                                     ('negative_axes', [-1], [3, 1], [(0, 0), (0, 0), (3, 1)])):
        yield NodeTest(f'pad_{name}', 'Pad', 18, [x, np.array(pads), np.array(1.5, F), np.array(axes)],
                       [np.pad(x, widths, constant_values=1.5)])
    all_axes = [(1, 0), (0, 2), (5, 3)]
    pads = np.array([w[0] for w in all_axes] + [w[1] for w in all_axes])
    wrapped = x
    for axis, (before, behind) in enumerate(all_axes):
        wrapped = wrapped.take(np.arange(-before, x.shape[axis] + behind), axis, mode='wrap')
    yield NodeTest('pad_wrap', 'Pad', 19, [x, pads], [wrapped], mode='wrap')
    numbers = whole('pad8', -9, 9, (2, 3), np.int8)
    yield NodeTest('pad_edge_int8', 'Pad', 21, [numbers, np.array([0, 1, 2, 0])], [np.pad(numbers, [(0, 2), (1, 0)], 'edge')],
                   mode='edge')


def splits():
    x = draw('split', 7, 2)
    yield NodeTest('split_18_parts', 'Split', 18, [x], [x[:3], x[3:6], x[6:]], axis=0, num_outputs=3)
    yield NodeTest('split_18_sizes', 'Split', 18, [x, np.array([2, 5])], [x[:2], x[2:]], axis=0)
    yield NodeTest('split_18_empty', 'Split', 18, [x, np.array([0, 2])], [x[:, :0], x], axis=1)


def scatters():
    data, updates = draw('data', 4, 5), draw('updates', 2, 5)
    where = whole('where', -4, 4, (2, 5))
    for how, combine in (('max', np.maximum), ('min', np.minimum), ('mul', np.multiply), ('add', np.add)):
        out = data.copy()
        for i, j in itertools.product(range(2), range(5)):
            out[where[i, j], j] = combine(out[where[i, j], j], updates[i, j])
        yield NodeTest(f'scatter_elements_18_{how}', 'ScatterElements', 18, [data, where, updates], [out], axis=0, reduction=how)
        rows, values = np.array([[1], [3], [1]]), draw('values', 3, 5)
        out = data.copy()
        for row, value in zip(rows[:, 0], values):
            out[row] = combine(out[row], value)
        yield NodeTest(f'scatter_nd_18_{how}', 'ScatterND', 18, [data, rows, values], [out], reduction=how)


def center(x, extents, axes):
    """Cropped and padded around the middle; of an odd rest, one more at the end."""
    out = np.zeros([extents[axes.index(a)] if a in axes else n for a, n in enumerate(x.shape)], x.dtype)
    source, target = [], []
    for have, want in zip(x.shape, out.shape):
        source.append(slice((have - want) // 2, (have - want) // 2 + want) if have > want else slice(None))
        target.append(slice((want - have) // 2, (want - have) // 2 + have) if want > have else slice(None))
    out[tuple(target)] = x[tuple(source)]
    return out


def cropping():
    x = draw('crop', 5, 8, 3)
    for name, extents, axes in (('crop', [3, 5, 3], None), ('pad', [8, 11, 4], None), ('both', [7, 3], [0, 1]),
                                ('negative', [5, 6], [-2, -1])):
        real = [a % 3 for a in axes] if axes else [0, 1, 2]
        yield NodeTest(f'center_crop_pad_{name}', 'CenterCropPad', 18, [x, np.array(extents)], [center(x, extents, real)],
                       **({'axes': axes} if axes else {}))


def columns():
    """Col2Im: every block of the columns is added where it came from."""
    cases = {'plain': dict(), 'stride': dict(strides=[2, 2]), 'dilated': dict(dilations=[1, 2]),
             'padded': dict(pads=[1, 0, 1, 2]), 'all': dict(strides=[2, 1], dilations=[2, 1], pads=[0, 1, 1, 0])}
    for name, form in cases.items():
        image, block, channels = [6, 7], [2, 3], 2
        stride, dilation = form.get('strides', [1, 1]), form.get('dilations', [1, 1])
        pads = form.get('pads', [0, 0, 0, 0])
        counts = [(image[d] + pads[d] + pads[d + 2] - dilation[d] * (block[d] - 1) - 1) // stride[d] + 1 for d in (0, 1)]
        x = draw('col' + name, 1, channels * 6, counts[0] * counts[1])
        whole_image = np.zeros((1, channels, image[0] + pads[0] + pads[2], image[1] + pads[1] + pads[3]), F)
        for c, i, j in itertools.product(range(channels), range(2), range(3)):
            for r, s in itertools.product(range(counts[0]), range(counts[1])):
                whole_image[0, c, r * stride[0] + i * dilation[0], s * stride[1] + j * dilation[1]] += \
                    x[0, c * 6 + i * 3 + j, r * counts[1] + s]
        inner = whole_image[:, :, pads[0]:pads[0] + image[0], pads[1]:pads[1] + image[1]]
        yield NodeTest(f'col2im_{name}', 'Col2Im', 18, [x, np.array(image), np.array(block)], [inner.copy()], **form)


def pools():
    x = draw('pools', 1, 2, 7, 8)

    def windows(stride, dilation, ceil):
        counts = []
        for d, n in enumerate(x.shape[2:]):
            free = (n - dilation * 2 - 1) / stride
            counts.append((math.ceil(free) if ceil else int(free)) + 1)
        for r, s in itertools.product(range(counts[0]), range(counts[1])):
            yield (r, s), counts, x[:, :, r * stride:r * stride + 2 * dilation + 1:dilation,
                                    s * stride:s * stride + 2 * dilation + 1:dilation]

    for name, stride, dilation, ceil in (('dilated', 1, 2, 0), ('stride', 2, 1, 0), ('ceil', 2, 2, 1)):
        mean = norm = None
        for (r, s), counts, window in windows(stride, dilation, ceil):
            if mean is None:
                mean, norm = np.zeros((1, 2, *counts), F), np.zeros((1, 2, *counts), F)
            mean[:, :, r, s] = window.mean((2, 3))
            norm[:, :, r, s] = (np.abs(window) ** 3).sum((2, 3)) ** (1 / 3)
        form = dict(kernel_shape=[3, 3], strides=[stride] * 2, dilations=[dilation] * 2, ceil_mode=ceil)
        yield NodeTest(f'average_pool_19_{name}', 'AveragePool', 19, [x], [mean], **form)
        yield NodeTest(f'lp_pool_18_{name}', 'LpPool', 18, [x], [norm], p=3, **form)


def sample(x, y, w, mode, outside):
    """x: one picture; the value at (y, w) in pixels."""
    height, width = x.shape
    if mode == 'nearest':
        return pixel(x, int(np.rint(y)), int(np.rint(w)), outside)
    top, left = math.floor(y), math.floor(w)
    return sum(pixel(x, top + i, left + j, outside) * (1 - abs(y - top - i)) * (1 - abs(w - left - j))
               for i in (0, 1) for j in (0, 1))


def pixel(x, i, j, outside):
    height, width = x.shape
    if outside == 'zeros' and not (0 <= i < height and 0 <= j < width):
        return 0.0
    return x[min(max(i, 0), height - 1), min(max(j, 0), width - 1)]


def sampling():
    x, grid = draw('grid_x', 1, 2, 4, 5), (draw('grid', 1, 3, 4, 2) * 0.7).astype(F)
    for mode, outside, align in itertools.product(('linear', 'nearest'), ('zeros', 'border'), (0, 1)):
        out = np.zeros((1, 2, 3, 4), F)
        for c, i, j in itertools.product(range(2), range(3), range(4)):
            at = [(grid[0, i, j, 1 - d] + 1) / 2 * (n - 1) if align else ((grid[0, i, j, 1 - d] + 1) * n - 1) / 2
                  for d, n in enumerate((4, 5))]
            if outside == 'border':
                at = [min(max(p, 0), n - 1) for p, n in zip(at, (4, 5))]
            out[0, c, i, j] = sample(x[0, c], *at, mode, outside)
        yield NodeTest(f'grid_sample_20_{mode}_{outside}_{align}', 'GridSample', 20, [x, grid], [out], mode=mode,
                       padding_mode=outside, align_corners=align)


def affine():
    theta = draw('theta', 2, 2, 3)
    for align in (0, 1):
        def steps(n):
            return np.linspace(-1, 1, n) if align else (np.arange(n) * 2 + 1) / n - 1
        rows, cols = np.meshgrid(steps(4), steps(5), indexing='ij')
        points = np.stack([cols, rows, np.ones_like(rows)], -1)
        yield NodeTest(f'affine_grid_{align}', 'AffineGrid', 20, [theta, np.array([2, 3, 4, 5])],
                       [np.einsum('hwk,nck->nhwc', points, theta).astype(F)], align_corners=align)


def resizing():
    x = draw('resize', 1, 1, 4, 6)
    twice = np.repeat(np.repeat(x, 2, 2), 2, 3)
    yield NodeTest('resize_18_axes', 'Resize', 18, [x, None, np.array([2, 2], F)], [twice], axes=[2, 3], mode='nearest',
                   nearest_mode='floor', coordinate_transformation_mode='asymmetric')
    yield NodeTest('resize_18_not_larger', 'Resize', 18, [x, None, None, np.array([8, 18])], [twice], axes=[2, 3],
                   mode='nearest', nearest_mode='floor', coordinate_transformation_mode='asymmetric',
                   keep_aspect_ratio_policy='not_larger')
    half = x.reshape(1, 1, 2, 2, 3, 2).mean((3, 5))
    weights = np.array([1, 3, 3, 1]) / 8  # of a triangle twice as wide; past an end stands the last element

    def smaller(line):
        places = np.clip(2 * np.arange(len(line) // 2)[:, None] - 1 + np.arange(4), 0, len(line) - 1)
        return line[places] @ weights
    linear = np.apply_along_axis(smaller, 3, np.apply_along_axis(smaller, 2, x.astype(float)))
    yield NodeTest('resize_18_antialias', 'Resize', 18, [x, None, np.array([1, 1, 0.5, 0.5], F)], [linear.astype(F)],
                   mode='linear', antialias=1)
    yield NodeTest('resize_18_linear', 'Resize', 18, [x, None, np.array([1, 1, 0.5, 0.5], F)], [half.astype(F)], mode='linear')


def optionals_of_tensors():
    x = draw('some', 3)
    yield NodeTest('optional_get_element_tensor', 'OptionalGetElement', 18, [x], [x])
    yield NodeTest('optional_has_element_tensor', 'OptionalHasElement', 18, [x], [np.array(True)])


MAKERS = [paddings, splits, scatters, cropping, columns, pools, sampling, affine, resizing, optionals_of_tensors]
