# SPDX-License-Identifier: Apache-2.0
"""check_table.py RESULTS.MD: every row of the benchmark table has its figure, its peer and its ratio."""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n| check |")[0]
        .splitlines() if line.startswith("| ")][1:]
wrong = [] if len(rows) == 16 else [f"{len(rows)} rows instead of 16"]
for name, measured, peer, ratio, aim, least, verdict, reference in rows:
    network, memory = " batch " in name, "65536x4096" in name
    compared = network or memory or name.startswith("linear")
    if not re.fullmatch(r"[\d.]+ (ms|us|s|TB/s)", measured):
        wrong.append(f"{name}: measured `{measured}`")
    if compared and not re.fullmatch(r"(copy )?[\d.]+ (ms|us|TB/s)", peer):
        wrong.append(f"{name}: peer `{peer}`")
    if compared and not re.fullmatch(r"\d+%" if memory else r"\d+\.\d\d", ratio):
        wrong.append(f"{name}: ratio `{ratio}`")
    if verdict not in ("aim reached", "enough", "BELOW"):
        wrong.append(f"{name}: verdict `{verdict}`")
    if name.endswith("batch 1") and reference != "agrees":
        wrong.append(f"{name}: reference `{reference}`")
if "REHEARSAL" not in text or "torch stand-in" not in text:
    wrong.append("results do not say that they are of a rehearsal")
print("\n".join(wrong) or "every row has its figure")
sys.exit(bool(wrong))
