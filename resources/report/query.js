// SPDX-License-Identifier: Apache-2.0
// The query language of the search field.
"use strict";
// Words must all hold: op:conv rule:bn shape:64 dtype:float16 us>10 bytes>=1e6, other words are
// looked for in name, operator and rule; quotes keep spaces, a leading - negates.
const parseQuery = (text) => (text.match(/-?(?:[\w]+(?::|[<>]=?|=))?(?:"[^"]*"|\S+)/g) || []).map((word) => {
  const not = word.length > 1 && word[0] === "-";
  const m = /^(op|rule|shape|dtype|name|us|bytes)(:|<=|>=|<|>|=)(.*)$/.exec(not ? word.slice(1) : word);
  const value = (m ? m[3] : not ? word.slice(1) : word).replace(/"/g, "").toLowerCase();
  return { not, field: m ? m[1] : "", sign: m ? m[2] : "", value };
});
const holdsWord = (b, w, rule) => {
  const has = (text) => text.toLowerCase().includes(w.value);
  if (w.field === "us" || w.field === "bytes") {
    const v = b[w.field], n = Number(w.value);
    if (v < 0 || Number.isNaN(n)) return false;
    return w.sign === ">" ? v > n : w.sign === "<" ? v < n : w.sign === ">=" ? v >= n : w.sign === "<=" ? v <= n : v === n;
  }
  if (w.field === "shape") return has(b.type.replace(/,/g, "x")) || has(b.type);
  if (w.field === "op") return has(b.op);
  if (w.field === "dtype") return b.dtype.toLowerCase() === w.value;
  if (w.field === "rule") return has(rule);
  if (w.field === "name") return has(b.name);
  return has(b.name) || has(b.op) || has(rule);
};
