# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 and 4 bits as the documents define them: all codes with their values, and rounding to the nearest, ties to even."""
import numpy as np

# bits of exponent, of mantissa, bias, whether there are infinities, whether one code stands for all NaN and there is no -0
FORMS = {17: (4, 3, 7, False, False), 18: (4, 3, 8, False, True), 19: (5, 2, 15, True, False), 20: (5, 2, 16, False, True),
         23: (2, 1, 1, False, None)}


def values(kind):
    exponents, mantissa, bias, infinities, single = FORMS[kind]
    bits = 1 + exponents + mantissa
    out = np.zeros(1 << bits, np.float64)
    for code in range(1 << bits):
        e, m = code >> mantissa & ((1 << exponents) - 1), code & ((1 << mantissa) - 1)
        size = m * 2.0 ** (1 - bias - mantissa) if e == 0 else (1 + m / (1 << mantissa)) * 2.0 ** (e - bias)
        last = e == (1 << exponents) - 1
        if infinities and last:
            size = np.inf if m == 0 else np.nan
        elif single is False and not infinities and last and m == (1 << mantissa) - 1:
            size = np.nan
        out[code] = -size if code >> (bits - 1) else size
    if single:
        out[1 << (bits - 1)] = np.nan
    return out


def codes_of(x, kind, saturate=True):
    """The code of each element."""
    table = values(kind)
    finite = [c for c in range(len(table)) if np.isfinite(table[c]) and not np.signbit(table[c])]
    largest = finite[-1]
    step = table[largest] - table[largest - 1]
    sign = 1 << (int(np.log2(len(table))) - 1)
    nan = next((c for c in range(len(table)) if np.isnan(table[c])), None)
    infinite = next((c for c in range(len(table)) if np.isinf(table[c])), None)
    nan = {17: 0x7f, 19: 0x7f}.get(kind, nan)
    out = np.zeros(np.shape(x), np.uint8)
    for index, value in np.ndenumerate(np.asarray(x, np.float64)):
        magnitude, negative = abs(value), bool(np.signbit(value))
        single = FORMS[kind][4]
        if np.isnan(value) or (np.isinf(value) and single):
            out[index] = nan if single or not negative else nan | sign
            continue
        if np.isinf(value) or magnitude >= table[largest] + step / 2:
            beyond = magnitude > table[largest] + step / 2 or np.isinf(value) or largest % 2 == 1
            if saturate or single is None:
                code = largest
            else:
                code = (infinite if infinite is not None else nan) if beyond else largest
            out[index] = code | (sign if negative and not (single and code == nan) else 0)
            continue
        best = min(finite, key=lambda c: (abs(table[c] - magnitude), c % 2))
        out[index] = best | (sign if negative and not (single and best == 0) else 0)
    return out
