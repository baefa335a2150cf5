// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them, as format.cpp writes them.
"use strict";
const us = (v) => v < 0 ? "not known" : v < 1000 ? v.toFixed(1) + " µs" : v < 1e6 ? (v / 1e3).toFixed(2) + " ms" : (v / 1e6).toFixed(2) + " s";
const bytes = (v) => {
  if (v === null || v === undefined) return "not known";
  const sign = v < 0 ? "−" : "";
  v = Math.abs(v);
  let u = 0;
  while (v >= 999.5 && u < 4) { v /= 1000; ++u; }
  return sign + (u === 0 ? v.toFixed(0) : v < 10 ? v.toFixed(2) : v.toFixed(1)) + " " + ["B", "kB", "MB", "GB", "TB"][u];
};
